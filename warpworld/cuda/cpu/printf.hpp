// printf in kernels: each line names the kernel, env and agent that printed it (lines.hpp). It is hidden in this
// module, as assert() is, so that <cstdio>, std::printf and the author's helpers use it too; the compiler checks the
// formats.
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "abi.hpp"

extern "C" inline __attribute__((visibility("hidden"), no_sanitize("thread"), format(printf, 1, 2))) int printf(
    const char* format, ...) {
#ifdef WW_CHECK
  if (!ww_check_speaks()) return 0;  // a replica would print everything again
#endif
  va_list values;
  va_start(values, format);
  const int length = ww_print(ww_world().first_env + env_id(), agent_id(), is_active(), format, values);
  va_end(values);
  return length;
}
