// The cpu backend's headers with names of their own: a process may hold that backend's runtime beside the stand-in
// driver, and a CUDA text may call a struct of its own as one of theirs is called.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ww_this_thread stand_in_this_thread
#define ww_fail stand_in_fail
#define ww_launch stand_in_launch
#define __asm__(name) __asm__("stand_in_" name)  // threadIdx and the like
#include "cpu/abi.hpp"
#undef __asm__

// What a kernel of a module is to the driver; exported as stand_in_kernel_<name>.
struct stand_in_kernel {
  ww_run run;
  size_t parameter_bytes;  // as CUDA packs them
  unsigned max_threads;    // __launch_bounds__
};
