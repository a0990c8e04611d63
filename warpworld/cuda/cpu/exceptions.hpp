// Exceptions of C++ in the files that use its library: one that leaves a kernel is the kernel's error.
//
// The linker turns the module's own calls of __cxa_throw into calls of what stands here, which notes the place.
#pragma once

#include <cxxabi.h>
#include <stdio.h>
#include <stdlib.h>

#include <exception>
#include <typeinfo>

#include "abi.hpp"

namespace ww {
static thread_local void* thrown_at;  // behind the call that threw; null for an exception of a library
}

extern "C" {
[[noreturn]] void __real___cxa_throw(void* object, std::type_info* type, void (*destroy)(void*));
[[noreturn]] __attribute__((visibility("hidden"), used, noinline)) void __wrap___cxa_throw(
    void* object, std::type_info* type, void (*destroy)(void*)) {
  ww::thrown_at = __builtin_return_address(0);
  __real___cxa_throw(object, type, destroy);
}
}

namespace ww {

// Calls a kernel; an exception that leaves it ends the launch, and no other env's part is lost.
template <class... A>
static inline void guarded(void (*kernel)(A...), A... args) {
  char text[400];
  try {
    thrown_at = nullptr;
    kernel(args...);
    return;
  } catch (const std::exception& error) {
    int status = 0;
    char* name = abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status);
    snprintf(text, sizeof text, "%s: %s", name ? name : typeid(error).name(), error.what());
    free(name);
  } catch (...) {
    snprintf(text, sizeof text, "an exception that is no std::exception");
  }
  ww_fail_at(WW_EXCEPTION, thrown_at ? (char*)thrown_at - 1 : nullptr, text);
}

}  // namespace ww

#define WW_CALL(kernel, ...) ww::guarded<>(kernel, ##__VA_ARGS__)
