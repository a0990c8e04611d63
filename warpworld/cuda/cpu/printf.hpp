// printf in kernels: each line tells the kernel, env and agent that printed it (lines.hpp). Hidden and of this module's
// own, as assert() is, so that <cstdio>, std::printf and the author's helpers end here too; the compiler looks at formats.
#pragma once

#include <stdarg.h>
#include <stdio.h>

#include "abi.hpp"

extern "C" inline __attribute__((visibility("hidden"), no_sanitize("thread"), format(printf, 1, 2))) int printf(
    const char* format, ...) {
#ifdef WW_CHECK
  if (!ww_check_speaks()) return 0;  // a twin repeats what was said
#endif
  va_list values;
  va_start(values, format);
  const int length = ww_print(ww_world().first_env + env_id(), agent_id(), is_active(), format, values);
  va_end(values);
  return length;
}
