// What stands before a CUDA text when the stand-in nvcc compiles it: CUDA's words, from the cpu backend's headers, with
// the scheduler that knows warps. After the preprocessor nvcc finds kernels by CUDA's two attributes for them.
#pragma once

#define WW_WARP_SCHEDULER
#define WW_NEXT_THREAD perturbed_next_thread
#define WW_ROUNDING_WORDS
#define WW_SIMD_WORDS
#define WW_SPECIAL_WORDS
#include "runtime_names.hpp"
// after it, for the names
#include "cpu/warps.hpp"
#include "cpu/atomics.hpp"
#include "cpu/cuda_words.hpp"
#include "thread_order.hpp"
#ifdef STAND_IN_LIBM_SEED
#include "libm.hpp"
#endif

namespace stand_in {

// Where each parameter lies in the buffer of a launch, as CUDA packs them: at its natural alignment.
template <class... A>
struct Packed {
  size_t offset[sizeof...(A) + 1] = {}, bytes = 0;
  constexpr Packed() {
    const size_t sizes[] = {sizeof(A)..., 0}, alignments[] = {alignof(A)..., 1};
    for (size_t i = 0; i < sizeof...(A); i++) {
      offset[i] = (bytes + alignments[i] - 1) / alignments[i] * alignments[i];
      bytes = offset[i] + sizes[i];
    }
  }
};

template <auto kernel>
struct Runner;

// As ww::Runner, with as many threads as the launch says and parameters in one buffer.
template <class... A, void (*kernel)(A...)>
struct Runner<kernel> {
  static constexpr Packed<A...> packed{};

  static void start_block(ww::Warps& w) {
    w.num_ready = w.threads;
    w.next_ready = w.num_returned = w.num_at_block = 0;
    for (unsigned t = 0; t < w.threads; t++) {
      w.wait[t] = ww::Wait::none;
      w.ready[t] = (uint16_t)t;
    }
    blockIdx.x = w.block;
  }

  __attribute__((noinline)) static void loop(A... args) {
    ww::Warps& w = ww::warps();
    for (;;) {
      kernel(args...);
      const unsigned me = threadIdx.x;
      w.wait[me] = ww::Wait::returned;
      if (++w.num_returned == w.threads) {
        if (++w.block == w.end) {
          void* nobody;
          WW_SWITCH(&nobody, w.caller);
        }
        start_block(w);
      }
      ww::switch_to(w, me, ww::WW_NEXT_THREAD(w));
    }
  }

  template <size_t... I>
  static void unpack(const char* buffer, std::index_sequence<I...>) {
    (void)buffer;
    loop(*(const A*)(buffer + packed.offset[I])...);
  }
  static void body(void* const* buffer) { unpack((const char*)buffer, std::make_index_sequence<sizeof...(A)>()); }

  static void run(const ww_launch* launch, unsigned first, unsigned end) {
    ww::Warps& w = ww::warps();
    w.launch = launch;
    w.body = body;
    w.threads = launch->threads;
    w.block = first;
    w.end = end;
    for (unsigned t = 0; t < w.threads; t++) w.fiber[t] = ww_fresh_fiber(ww_stack_top(launch, t));
    start_block(w);
    threadIdx.x = ww::WW_NEXT_THREAD(w);
    WW_SWITCH(&w.caller, w.fiber[threadIdx.x]);
  }
};

template <auto kernel>
constexpr stand_in_kernel describe(unsigned max_threads) {
  return {Runner<kernel>::run, Runner<kernel>::packed.bytes, max_threads};
}
constexpr unsigned first_of(unsigned first, ...) { return first; }

}  // namespace stand_in

#undef ww_launch

// One block runs at a time, on one thread of the host. All that is thread-local in a module is its shared memory: so the
// driver finds it.
#undef __trap
#define __trap() ww_fail(WW_FAULT, __FILE__, __LINE__, "__trap() was called")

// As CUDA's own headers have them.
#undef __global__
#define __global__ __attribute__((global))
#undef __launch_bounds__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __CUDACC__ 1
