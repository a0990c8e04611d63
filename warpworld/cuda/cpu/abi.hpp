// What passes between a compiled kernel module, the runtime library and Python (managers/cpu/native_runtime.py
// mirrors these structs).
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "../context.cuh"

#define WW_ABI 3
#define WW_MAX_WORKERS 128
#define WW_MAX_THREADS 1024
#define WW_SCHEDULER_BYTES (96u << 10)
#ifndef WW_WARP_SIZE  // the backend sets it where it compiles kernels
#define WW_WARP_SIZE 32
#endif

#pragma GCC visibility push(default)
extern "C" {

enum ww_error_code {
  WW_OK = 0,
  WW_ASSERTION = 1,
  WW_DIVERGED = 2,
  WW_DEADLOCK = 3,
  WW_FAULT = 4,
  WW_TIMEOUT = 5,
  WW_STACK_OVERFLOW = 6,
  WW_INTERRUPTED = 7,
  WW_NO_MEMORY = 8,
  WW_ILLEGAL_ACTION = 9,
  WW_EXCEPTION = 10,
};

struct ww_error {
  int code;
  unsigned block, thread;  // block: env, or first of the packed envs
  int line;
  const char* file;    // of the failing line where the module knows it
  const char* kernel;  // name
  void *pc, *address;  // of a fault
  char text[512];
};

struct ww_launch {
  void* const* args;  // one pointer per parameter of the kernel
  unsigned threads;   // of a block
  char* stacks;         // this worker's fiber stacks
  size_t stack_stride;  // from one stack to the next, guard page included
};

// Runs blocks first .. end-1 on the calling worker.
typedef void (*ww_run)(const ww_launch* launch, unsigned first, unsigned end);

struct ww_kernel {
  unsigned abi;
  const char* name;
  ww_run run;
};

// Records the first error of a launch and leaves the kernel. Never returns.
[[noreturn]] void ww_fail(int code, const char* file, int line, const char* text);

// The same for an error at an address in the module; null where it is not known.
[[noreturn]] void ww_fail_at(int code, void* pc, const char* text);

// Prints for a kernel; `is_active` is false for a thread that should not be running. Returns the number of bytes, or
// -1.
int ww_print(int env, int agent, int is_active, const char* format, va_list values);

// Says that the calling worker makes progress, as each share that it begins does: for functions that take long.
void ww_make_progress();

// One per worker thread. It lives in the runtime library: as thread-locals of every module it would use up the static
// TLS block of the process after a handful of modules.
struct ww_thread {
  const ww_context* context;
  const char* kernel;  // name of the one that runs now
  int kernel_index;
  unsigned worker;
  int single;         // no other worker is stepping, so atomics may be plain
  void* scheduler;    // WW_SCHEDULER_BYTES for the scheduler of the kernel that runs now
};
extern __thread __attribute__((tls_model("initial-exec"))) ww_thread ww_this_thread;
}

struct uint3 {  // CUDA's, see cuda/vectors.hpp
  unsigned x, y, z;
};
// Real variables, not macros: kernels may have parameters of these names.
extern __thread __attribute__((tls_model("initial-exec"))) uint3 threadIdx __asm__("ww_thread_index");
// A module whose envs run side by side has its own, so that compilers see that no array overlaps it; the runtime's is then the
// first of a group of blocks.
#if defined(WW_ENVS_AT_ONCE) && !defined(WW_DEBUG)
extern __thread __attribute__((tls_model("initial-exec"))) uint3 ww_first_block __asm__("ww_block_index");
static __thread uint3 blockIdx;
#else
extern __thread __attribute__((tls_model("initial-exec"))) uint3 blockIdx __asm__("ww_block_index");
#endif
extern __thread __attribute__((tls_model("initial-exec"))) uint3 blockDim __asm__("ww_block_dim");
extern __thread __attribute__((tls_model("initial-exec"))) uint3 gridDim __asm__("ww_grid_dim");
#pragma GCC visibility pop
