// The functions that a compiler calls at each access of memory under -fsanitize=thread. They are this runtime's own:
// the module is linked without the sanitizer's, which would have to be loaded before Python.
#pragma once

#include "access.hpp"

#define WW_CALLBACK extern "C" __attribute__((visibility("hidden")))
#define WW_AT __builtin_return_address(0)
#define WW_READ_WRITE(prefix, bytes)                                                                       \
  WW_CALLBACK void __tsan_##prefix##read##bytes(char* p) { ww_check::access(p, bytes, false, false, WW_AT); } \
  WW_CALLBACK void __tsan_##prefix##write##bytes(char* p) { ww_check::access(p, bytes, true, false, WW_AT); } \
  WW_CALLBACK void __tsan_##prefix##read_write##bytes(char* p) {                                           \
    ww_check::access(p, bytes, false, false, WW_AT);                                                       \
    ww_check::access(p, bytes, true, false, WW_AT);                                                        \
  }
#define WW_SIZES(prefix)                                                                                   \
  WW_READ_WRITE(prefix, 1) WW_READ_WRITE(prefix, 2) WW_READ_WRITE(prefix, 4) WW_READ_WRITE(prefix, 8)      \
  WW_READ_WRITE(prefix, 16)
WW_SIZES()
WW_SIZES(unaligned_)
WW_SIZES(volatile_)
WW_SIZES(unaligned_volatile_)
#undef WW_SIZES
#undef WW_READ_WRITE

WW_CALLBACK void __tsan_read_range(char* p, size_t bytes) {
  ww_check::access(p, (unsigned)bytes, false, false, WW_AT);
}
WW_CALLBACK void __tsan_write_range(char* p, size_t bytes) {
  ww_check::access(p, (unsigned)bytes, true, false, WW_AT);
}

// Some compilers call the first, others the second; the linker sends the C library's own names to the second.
#define WW_COPY_FUNCTION(function, name)                                              \
  WW_CALLBACK void* function(char* target, const char* source, size_t bytes) {        \
    ww_check::access((char*)source, (unsigned)bytes, false, false, WW_AT);            \
    ww_check::access(target, (unsigned)bytes, true, false, WW_AT);                    \
    return __real_##name(target, source, bytes);                                      \
  }
#define WW_SET_FUNCTION(function)                                                     \
  WW_CALLBACK void* function(char* target, int value, size_t bytes) {                 \
    ww_check::access(target, (unsigned)bytes, true, false, WW_AT);                    \
    return __real_memset(target, value, bytes);                                       \
  }
extern "C" {
void* __real_memcpy(void*, const void*, size_t);
void* __real_memmove(void*, const void*, size_t);
void* __real_memset(void*, int, size_t);
}
WW_COPY_FUNCTION(__tsan_memcpy, memcpy)
WW_COPY_FUNCTION(__wrap_memcpy, memcpy)
WW_COPY_FUNCTION(__tsan_memmove, memmove)
WW_COPY_FUNCTION(__wrap_memmove, memmove)
WW_SET_FUNCTION(__tsan_memset)
WW_SET_FUNCTION(__wrap_memset)
// Linkers wrap a name only where it is used.
__attribute__((used)) static const void* const ww_wrapped[] = {(void*)memcpy, (void*)memmove, (void*)memset};
#undef WW_COPY_FUNCTION
#undef WW_SET_FUNCTION

// Called at the start of each basic block, under -fsanitize-coverage=trace-pc.
WW_CALLBACK void __sanitizer_cov_trace_pc() {
  const ww_check::State* state = ww_check::current;
  if (!state || !state->ran) return;
  const unsigned kernel = (unsigned)ww_this_thread.kernel_index % 64;
  state->ran[(const char*)WW_AT - state->image.base] |= 1ull << kernel;
}

WW_CALLBACK void __tsan_init() {}
WW_CALLBACK void __tsan_func_entry(void* caller) {
  if (!ww_check::current) return;
  ww_check::Thread& thread = ww_check::current->threads[threadIdx.x];
  thread.caller = caller;
  if (thread.depth++ == 1) thread.call = caller;
}
WW_CALLBACK void __tsan_func_exit() {
  if (!ww_check::current) return;
  ww_check::Thread& thread = ww_check::current->threads[threadIdx.x];
  thread.caller = nullptr;
  thread.depth--;
}
WW_CALLBACK void __tsan_vptr_update(void**, void*) {}
WW_CALLBACK void __tsan_vptr_read(void**) {}
// Atomic operations of the C++ library; CUDA's are in ../atomics.hpp.
#define WW_ATOMIC_UPDATE(bits, type, operation)                                            \
  WW_CALLBACK type __tsan_atomic##bits##_##operation(volatile type* p, type value, int) { \
    return __atomic_##operation(p, value, __ATOMIC_SEQ_CST);                               \
  }
#define WW_ATOMIC_COMPARE(bits, type, strength, weak)                                                       \
  WW_CALLBACK int __tsan_atomic##bits##_compare_exchange_##strength(volatile type* p, type* expected, type wanted, \
                                                                    int, int) {                             \
    return __atomic_compare_exchange_n(p, expected, wanted, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }
#define WW_ATOMICS(bits, type)                                                                     \
  WW_CALLBACK type __tsan_atomic##bits##_load(const volatile type* p, int) {                       \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  WW_CALLBACK void __tsan_atomic##bits##_store(volatile type* p, type value, int) {                \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                \
  WW_CALLBACK type __tsan_atomic##bits##_exchange(volatile type* p, type value, int) {             \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                        \
  }                                                                                                \
  WW_ATOMIC_UPDATE(bits, type, fetch_add)                                                          \
  WW_ATOMIC_UPDATE(bits, type, fetch_sub)                                                          \
  WW_ATOMIC_UPDATE(bits, type, fetch_and)                                                          \
  WW_ATOMIC_UPDATE(bits, type, fetch_or)                                                           \
  WW_ATOMIC_UPDATE(bits, type, fetch_xor)                                                          \
  WW_ATOMIC_COMPARE(bits, type, strong, false)                                                     \
  WW_ATOMIC_COMPARE(bits, type, weak, true)
WW_ATOMICS(8, uint8_t)
WW_ATOMICS(16, uint16_t)
WW_ATOMICS(32, uint32_t)
WW_ATOMICS(64, uint64_t)
#undef WW_ATOMICS
#undef WW_ATOMIC_COMPARE
#undef WW_ATOMIC_UPDATE
WW_CALLBACK void __tsan_atomic_thread_fence(int) {}
WW_CALLBACK void __tsan_atomic_signal_fence(int) {}
