// The words of warpworld.cuh on a CPU. Only lanes with an active agent are run, so is_active() is always true; the
// packed build (WW_ENVS_PER_WARP) packs several envs into a warp as a GPU does, including lanes that are idle for a
// launch.
#pragma once

#ifdef WW_DEBUG  // functions that a debugger can call, whether the kernel does or not
#define WW_FUNCTION static __attribute__((used))
#define WW_METHOD inline
#else
#define WW_FUNCTION static inline __attribute__((always_inline))
#define WW_METHOD inline __attribute__((always_inline))
#endif

WW_FUNCTION const ww_context& ww_world() { return *ww_this_thread.context; }
WW_FUNCTION int ww_kernel_index() { return ww_this_thread.kernel_index; }

#define ENVS_IN_VECTORS static_assert(true, "asks for WW_ENVS_AT_ONCE, see kernel_source.py")

#ifdef WW_ENVS_PER_WARP

constexpr bool LANES_SIDE_BY_SIDE = true;  // pretended: the packed build takes the GPU's path in order to check it
#define WW_SLOTS WW_ENVS_PER_WARP
WW_FUNCTION bool ww_has_agent() { return threadIdx.x < WW_SLOTS * NUM_AGENTS; }
WW_FUNCTION int ww_slot() { return ww_has_agent() ? (int)threadIdx.x / NUM_AGENTS : WW_SLOTS - 1; }
WW_FUNCTION int agent_id() { return ww_has_agent() ? (int)threadIdx.x % NUM_AGENTS : NUM_AGENTS - 1; }
WW_FUNCTION int ww_unclamped_env() { return (int)blockIdx.x * WW_SLOTS + ww_slot(); }
WW_FUNCTION int env_id() {
  const int env = ww_unclamped_env();
  return env < ww_world().num_envs ? env : ww_world().num_envs - 1;
}
WW_FUNCTION bool is_active() {
  return ww_has_agent() && ww_unclamped_env() < ww_world().num_envs && ww_world().active[env_id()];
}
WW_FUNCTION int lane() { return agent_id(); }
WW_FUNCTION int num_lanes() { return NUM_AGENTS; }
WW_FUNCTION uint32_t ww_lanes_of_env() {
  return (NUM_AGENTS == 32 ? 0xFFFFFFFFu : (1u << NUM_AGENTS) - 1u) << (ww_slot() * NUM_AGENTS);
}
#define sync_env() (ww_has_agent() ? __syncwarp(ww_lanes_of_env()) : (void)0)
#define WW_SHARED_SLOT [ww_slot()]
#define WW_SHARED_SLOTS [WW_SLOTS]

#else

constexpr bool LANES_SIDE_BY_SIDE = false;
WW_FUNCTION int env_id() { return (int)blockIdx.x; }
WW_FUNCTION int lane() { return WW_MAX_THREADS_PER_ENV == 1 ? 0 : (int)threadIdx.x; }
WW_FUNCTION int num_lanes() { return WW_MAX_THREADS_PER_ENV == 1 ? 1 : (int)blockDim.x; }
WW_FUNCTION int agent_id() { return lane(); }
#ifdef WW_CHECK  // kernels run for all envs then, to see that those who sit a launch out keep still
WW_FUNCTION bool is_active() { return ww_world().active[blockIdx.x]; }
#else
WW_FUNCTION constexpr bool is_active() { return true; }
#endif
#define sync_env() __syncthreads()
#define WW_SHARED_SLOT
#define WW_SHARED_SLOTS

#endif

// A lane votes by itself, see gpu/words.cuh.
WW_FUNCTION constexpr int ww_lanes_that_vote() { return 1; }
WW_FUNCTION constexpr unsigned ww_votes(bool vote) { return vote; }

#ifdef WW_CHECK

// The values of one worker, with padding around them that must never be written.
#define ENV_SHARED(type, name, n)                                                                            \
  static_assert(sizeof(type) * (n) <= 48 * 1024, "ENV_SHARED: an env may share at most 48 KB");              \
  static struct {                                                                                            \
    char before[128];                                                                                        \
    alignas(128) type values WW_SHARED_SLOTS[n];                                                             \
    char behind[1024];                                                                                       \
  } ww_shared_##name;                                                                                        \
  type(&name)[n] = *(type(*)[n])ww_check_shared(#name, ww_shared_##name.values WW_SHARED_SLOT, sizeof(type), n)

#else

// One slot a worker, as it is one an env of the block on a GPU: no thread-local storage to look up. 48 KB is what a
// CUDA block may have.
#define ENV_SHARED(type, name, n)                                                                            \
  static_assert(sizeof(type) * (n) <= 48 * 1024, "ENV_SHARED: an env may share at most 48 KB");              \
  static struct alignas(128) {                                                                               \
    type values WW_SHARED_SLOTS[n];                                                                          \
  } ww_shared_##name[WW_MAX_WORKERS];                                                                        \
  type(&name)[n] = ww_shared_##name[ww_this_thread.worker].values WW_SHARED_SLOT

#endif

#include "printf.hpp"
