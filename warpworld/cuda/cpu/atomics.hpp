// CUDA's atomic functions on the host. Relaxed, as CUDA's are; plain where no other worker is stepping.
#pragma once

#include "abi.hpp"
#include "checks.hpp"

namespace ww {

template <class T>
struct Same {  // keeps a value argument out of template deduction
  using type = T;
};
template <class T>
using Value = typename Same<T>::type;

#ifdef WW_CHECK

// There is one worker. Not instrumented: ww_check_atomic reports the access, which would look like a plain read and
// write.
template <class T, class Operation>
__attribute__((noinline, no_sanitize("thread"))) static T atomic_update(T* target, Operation operation) {
  const T old = *target;
  *target = operation(old);
  return old;
}

#else

template <class T, class Operation>
static WW_INLINE T atomic_update(T* target, Operation operation) {
#ifdef WW_ENVS_AT_ONCE  // the envs of a vector are at it together
  constexpr bool single = false;
#else
  const bool single = ww_this_thread.single;
#endif
  if (single) {
    const T old = *target;
    *target = operation(old);
    return old;
  }
  T old;
  __atomic_load(target, &old, __ATOMIC_RELAXED);
  T desired = operation(old);
  while (!__atomic_compare_exchange(target, &old, &desired, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    desired = operation(old);
  return old;
}

#endif

}  // namespace ww

// CUDA's scopes of an update, the block, the device and the whole system, are one here.
#define WW_ATOMIC(name, result)   \
  WW_ATOMIC_OF(name, result)      \
  WW_ATOMIC_OF(name##_block, result) \
  WW_ATOMIC_OF(name##_system, result)
#define WW_ATOMIC_OF(name, result)                                                         \
  template <class T>                                                                       \
  static WW_INLINE T name(T* target, ww::Value<T> value) {                                 \
    WW_CHECKED(ww_check_atomic(target, sizeof(T)));                                        \
    return ww::atomic_update(target, [&]([[maybe_unused]] T old) -> T { return result; }); \
  }
WW_ATOMIC(atomicAdd, old + value)
WW_ATOMIC(atomicSub, old - value)
WW_ATOMIC(atomicExch, value)
WW_ATOMIC(atomicMin, value < old ? value : old)
WW_ATOMIC(atomicMax, old < value ? value : old)
WW_ATOMIC(atomicAnd, old & value)
WW_ATOMIC(atomicOr, old | value)
WW_ATOMIC(atomicXor, old ^ value)
WW_ATOMIC(atomicInc, old >= value ? T(0) : T(old + 1))
WW_ATOMIC(atomicDec, old == T(0) || old > value ? value : T(old - 1))
#undef WW_ATOMIC
#undef WW_ATOMIC_OF

#define WW_ATOMIC_OF(name)                                                                        \
  template <class T>                                                                              \
  static WW_INLINE T name(T* target, ww::Value<T> expected, ww::Value<T> value) {                 \
    WW_CHECKED(ww_check_atomic(target, sizeof(T)));                                               \
    return ww::atomic_update(target, [&](T old) -> T { return old == expected ? value : old; }); \
  }
WW_ATOMIC_OF(atomicCAS)
WW_ATOMIC_OF(atomicCAS_block)
WW_ATOMIC_OF(atomicCAS_system)
#undef WW_ATOMIC_OF
