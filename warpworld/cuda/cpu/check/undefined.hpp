// The functions that a compiler calls under -fsanitize=... where what a kernel does is undefined in C++. They are this
// runtime's own, as those at accesses of memory are; the structs that they are given are the compilers' interface.
#pragma once

#include "callbacks.hpp"

namespace ww_check {

struct SourcePlace {
  const char* file;
  uint32_t line, column;
};

struct Type {
  uint16_t kind, info;  // kind 0: whole numbers, info: 2 * log2 of bits + signed; kind 1: floats, info: bits
  char name[1];         // in quotes
};

struct Operation {
  SourcePlace place;
  const Type *type, *other;  // other: where there are two
};

struct Pointer {
  SourcePlace place;
  const Type* type;
  uint8_t log_alignment, use;  // use 0 and 1: a load, a store
};

static ww_value value_of(const Type& type, uintptr_t passed) {
  if (type.kind == 1 && type.info == 32) {
    float narrow;
    memcpy(&narrow, &passed, sizeof narrow);
    const double real = narrow;
    ww_value value = {0, WW_REAL};
    memcpy(&value.bits, &real, sizeof real);
    return value;
  }
  if (type.kind == 1 && type.info == 64) return {passed, WW_REAL};
  const unsigned bits = 1u << (type.info >> 1);
  if (type.kind != 0 || bits > 64) return {0, WW_NO_VALUE};  // passed by address
  const unsigned unused = 64 - bits;
  if (type.info & 1) return {(uint64_t)((int64_t)((uint64_t)passed << unused) >> unused), WW_SIGNED};
  return {(uint64_t)passed << unused >> unused, WW_UNSIGNED};
}

constexpr ww_value nothing = {0, WW_NO_VALUE};
constexpr uint64_t most_beyond = 64;  // elements: an index that is further off may meet what is not this agent's stack

// By how many elements an index is outside of an array whose type is called "'float [4]'".
static uint64_t beyond(const char* array, ww_value index) {
  if (index.kind == WW_SIGNED && (int64_t)index.bits < 0) return 0 - index.bits;
  const char* bracket = strchr(array, '[');
  return index.bits - (bracket ? strtoull(bracket + 1, nullptr, 10) : 0) + 1;
}

// Whether a kernel continues. It is ended if it would do harm next, or fail with a less helpful message.
enum class Then { go_on, end };

static void tell(const ww_undefined& what, const void* return_address, Then then = Then::go_on,
                 const char* address = nullptr) {
  if (busy || !current || !current->watching || !current->threads[threadIdx.x].inside) return;
  {
    const Busy at_work;
    State& s = *current;
    if (!lane_of(s, blockIdx.x, threadIdx.x).active) return;
    const Region* region = address ? s.regions.find(address) : nullptr;
    ww_finding found = described(s, WW_UNDEFINED, region, address, 0, false, place_of(s, return_address));
    found.undefined = what;
    keep(s, found);
  }
  if (then == Then::end) ww_fail(WW_CHECK_STOPPED, nullptr, 0, "undefined behaviour");
}

}  // namespace ww_check

// Operations of two numbers of one type.
#define WW_ARITHMETIC(operation, what, then)                                                                \
  WW_CALLBACK void __ubsan_handle_##operation(const ww_check::Operation* at, uintptr_t left, uintptr_t right) { \
    using namespace ww_check;                                                                               \
    tell({what, at->type->name, value_of(*at->type, left), value_of(*at->type, right)}, WW_AT, then);       \
  }
WW_ARITHMETIC(add_overflow, WW_ADD, Then::go_on)
WW_ARITHMETIC(sub_overflow, WW_SUBTRACT, Then::go_on)
WW_ARITHMETIC(mul_overflow, WW_MULTIPLY, Then::go_on)
WW_ARITHMETIC(divrem_overflow, WW_DIVIDE, Then::end)
#undef WW_ARITHMETIC

WW_CALLBACK void __ubsan_handle_negate_overflow(const ww_check::Operation* at, uintptr_t value) {
  using namespace ww_check;
  tell({WW_NEGATE, at->type->name, value_of(*at->type, value), nothing}, WW_AT);
}

WW_CALLBACK void __ubsan_handle_shift_out_of_bounds(const ww_check::Operation* at, uintptr_t value, uintptr_t by) {
  using namespace ww_check;
  tell({WW_SHIFT, at->type->name, value_of(*at->type, value), value_of(*at->other, by)}, WW_AT);
}

WW_CALLBACK void __ubsan_handle_float_cast_overflow(const ww_check::Operation* at, uintptr_t value) {
  using namespace ww_check;
  tell({WW_CAST, at->other->name, value_of(*at->type, value), nothing}, WW_AT);
}

WW_CALLBACK void __ubsan_handle_load_invalid_value(const ww_check::Operation* at, uintptr_t value) {
  using namespace ww_check;
  tell({WW_LOAD, at->type->name, {(uint64_t)value & 0xFF, WW_UNSIGNED}, nothing}, WW_AT);
}

WW_CALLBACK void __ubsan_handle_out_of_bounds(const ww_check::Operation* at, uintptr_t index) {
  using namespace ww_check;
  const ww_value number = value_of(*at->other, index);
  tell({WW_INDEX, at->type->name, number, nothing}, WW_AT,
       beyond(at->type->name, number) > most_beyond ? Then::end : Then::go_on);
}

WW_CALLBACK void __ubsan_handle_type_mismatch_v1(const ww_check::Pointer* at, uintptr_t address) {
  using namespace ww_check;
  const ww_value alignment = {1ull << at->log_alignment, WW_UNSIGNED};
  if (address)
    tell({WW_ALIGNMENT, at->type->name, nothing, alignment}, WW_AT, Then::go_on, (const char*)address);
  else if (at->use <= 1)  // it is no harm to name what lies there
    tell({WW_NULL, at->type->name, nothing, nothing}, WW_AT, Then::end);
}

WW_CALLBACK void __ubsan_handle_missing_return(const ww_check::SourcePlace*) {
  using namespace ww_check;
  tell({WW_NO_RETURN, "", nothing, nothing}, WW_AT, Then::end);
  ww_fail(WW_CHECK_STOPPED, nullptr, 0, "a function that returns a value ended without one");
}
