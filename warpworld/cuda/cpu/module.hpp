// What is included before a kernel file on a CPU, and WW_KERNEL, which the build writes after the author's text.
#pragma once

#include "abi.hpp"
#include "checks.hpp"
#ifdef WW_HOST_CODE
#include "exceptions.hpp"
#else
#define WW_CALL(kernel, ...) kernel(__VA_ARGS__)
#endif
#ifdef WW_WARP_SCHEDULER
#include "warps.hpp"
#else
#include "ring.hpp"
#endif
#include "atomics.hpp"
#include "cuda_words.hpp"

// Exports a kernel of `threads` lanes an env; `function` is the kernel, or calls it with structs put together.
#define WW_KERNEL(kernel, function, threads)                                               \
  extern "C" __attribute__((visibility("default"))) const ww_kernel ww_kernel_##kernel = { \
      WW_ABI, #kernel, &ww::Runner<&function, threads>::run};
