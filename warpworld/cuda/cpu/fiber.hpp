// The switch from one fiber's stack to another's. Inline assembly, so that the compiler saves only what is live at the
// switch; a suspended fiber is the address of a small frame on its own stack. ucontext serves processors whose
// registers are not listed here, and every processor if WW_UCONTEXT is defined; it makes two system calls a switch.
#pragma once

#include "abi.hpp"

#ifdef WW_DEBUG  // functions of their own: a debugger's `next` goes over a barrier to the same agent
#define WW_INLINE inline
#else
#define WW_INLINE inline __attribute__((always_inline))
#endif
#define WW_COLD __attribute__((noinline, cold))
#define WW_UNLIKELY(x) __builtin_expect(!!(x), 0)

#if defined(__x86_64__) && !defined(__APX_F__) && !defined(WW_UCONTEXT)

#ifdef __AVX512F__
#define WW_CLOBBER_AVX512                                                                                        \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",    \
      "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define WW_CLOBBER_AVX512
#endif

// Frame, from its lowest address: rip, rbp, rbx; 128 bytes below the old stack pointer, past the red zone. rbx and rbp
// cannot be named as clobbered everywhere, so they are saved by hand.
#define WW_SWITCH(save, load)                                                                                    \
  do {                                                                                                           \
    void** ww_save_ = (save);                                                                                    \
    void* ww_load_ = (load);                                                                                     \
    asm volatile(                                                                                                \
        "addq $-128, %%rsp\n\tleaq 1f(%%rip), %%rax\n\tpushq %%rbx\n\tpushq %%rbp\n\tpushq %%rax\n\t"               \
        "movq %%rsp, (%%rdi)\n\tmovq %%rsi, %%rsp\n\tpopq %%rax\n\tpopq %%rbp\n\tpopq %%rbx\n\tjmp *%%rax\n\t"      \
        ".p2align 3\n1:\tsubq $-128, %%rsp\n"                                                                    \
        : "+D"(ww_save_), "+S"(ww_load_)                                                                         \
        :                                                                                                        \
        : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc", "xmm0",       \
          "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",       \
          "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)"           \
          WW_CLOBBER_AVX512);                                                                                    \
  } while (0)

extern "C" {
void ww_fiber_entry() __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"), used)) void ww_fiber_main();
}
// It has no caller, so unwinders stop here.
asm(".text\n.p2align 4\n.type ww_fiber_entry,@function\n.hidden ww_fiber_entry\nww_fiber_entry:\n"
    "\t.cfi_startproc\n\t.cfi_undefined rip\n\txorl %ebp, %ebp\n\tcall ww_fiber_main\n\tud2\n\t.cfi_endproc\n.size ww_fiber_entry,.-ww_fiber_entry\n");

// A fiber that will start in ww_fiber_main on the stack that ends at `top` (16-byte aligned). Once the frame's three
// words are popped the stack pointer must be a multiple of 16 again, as it is before every call.
static WW_INLINE void* ww_fresh_fiber(char* top) {
  void** frame = (void**)top - 5;
  frame[0] = (void*)ww_fiber_entry;
  frame[1] = frame[2] = frame[3] = nullptr;
  return frame;
}

#elif defined(__aarch64__) && !defined(WW_UCONTEXT)

#ifdef __ARM_FEATURE_SVE
#define WW_CLOBBER_SVE                                                                                            \
  , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15"
#else
#define WW_CLOBBER_SVE
#endif

// Frame, from its lowest address: x29, resume address, x19. x19 and x29 may be the compiler's frame registers, so they
// are saved by hand. The hint is `bti j`: a landing place where branch targets are enforced, nothing elsewhere.
#define WW_SWITCH(save, load)                                                                                    \
  do {                                                                                                           \
    register void** ww_save_ asm("x0") = (save);                                                                 \
    register void* ww_load_ asm("x1") = (load);                                                                  \
    asm volatile(                                                                                                \
        "adr x9, 1f\n\tstp x29, x9, [sp, #-32]!\n\tstr x19, [sp, #16]\n\tmov x10, sp\n\tstr x10, [x0]\n\t"         \
        "mov sp, x1\n\tldr x19, [sp, #16]\n\tldp x29, x9, [sp], #32\n\tbr x9\n1:\thint #36\n"                      \
        : "+r"(ww_save_), "+r"(ww_load_)                                                                         \
        :                                                                                                        \
        : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",  \
          "x18", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "memory", "cc", "v0", "v1", \
          "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",  \
          "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31"         \
          WW_CLOBBER_SVE);                                                                                       \
  } while (0)

extern "C" {
void ww_fiber_entry() __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"), used)) void ww_fiber_main();
}
asm(".text\n.p2align 4\n.type ww_fiber_entry,%function\n.hidden ww_fiber_entry\nww_fiber_entry:\n"
    "\t.cfi_startproc\n\t.cfi_undefined x30\n\thint #36\n\tmov x29, xzr\n\tmov x30, xzr\n\tbl ww_fiber_main\n"
    "\tbrk #1\n\t.cfi_endproc\n"
    ".size ww_fiber_entry,.-ww_fiber_entry\n");

static WW_INLINE void* ww_fresh_fiber(char* top) {
  void** frame = (void**)top - 4;
  frame[0] = frame[2] = frame[3] = nullptr;
  frame[1] = (void*)ww_fiber_entry;
  return frame;
}

#else

#include <ucontext.h>

extern "C" __attribute__((visibility("hidden"), used)) void ww_fiber_main();

static inline void ww_swap_context(void** save, void* load) {
  ucontext_t here;
  *save = &here;
  swapcontext(&here, (ucontext_t*)load);
}
#define WW_SWITCH(save, load) ww_swap_context((save), (load))

static inline void* ww_fresh_fiber(char* top) {
  constexpr size_t context_bytes = (sizeof(ucontext_t) + 63) / 64 * 64, stack_bytes = 48u << 10;
  ucontext_t* context = (ucontext_t*)(top - context_bytes);
  getcontext(context);
  context->uc_stack.ss_sp = top - context_bytes - stack_bytes;
  context->uc_stack.ss_size = stack_bytes;
  context->uc_link = nullptr;
  makecontext(context, ww_fiber_main, 0);
  return context;
}

#endif

// Stacks lie a multiple of 4096 bytes apart; without an offset their hot ends would fall on the same cache sets.
static WW_INLINE char* ww_stack_top(const ww_launch* launch, unsigned i) {
  return launch->stacks + (i + 1) * launch->stack_stride - (i * 5 % 61) * 64;
}
