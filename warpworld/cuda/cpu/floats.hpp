// How a thread rounds, and what it does with denormals. Kernels always run with the standard settings, whatever the
// program sets on its own threads (torch.set_flush_denormal): results do not depend on the thread that steps an env.
#pragma once

namespace ww {

#if defined(__x86_64__)
constexpr unsigned standard_float_control = 0x1F80;
// Without the lowest six bits, the flags of what has occurred.
static inline unsigned float_control() { return __builtin_ia32_stmxcsr() & 0xFFC0; }
static inline void set_float_control(unsigned control) { __builtin_ia32_ldmxcsr(control); }
#elif defined(__aarch64__)
constexpr unsigned standard_float_control = 0;
static inline unsigned float_control() {
  unsigned long control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return (unsigned)control;
}
static inline void set_float_control(unsigned control) { asm volatile("msr fpcr, %0" : : "r"((unsigned long)control)); }
#else
constexpr unsigned standard_float_control = 0;
static inline unsigned float_control() { return 0; }
static inline void set_float_control(unsigned) {}
#endif

}  // namespace ww
