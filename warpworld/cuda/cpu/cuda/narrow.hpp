// Floats of 16 bits as bits: rounded once, in any direction, from a double.
#pragma once

#include "bits.hpp"
#include "c_math.hpp"

namespace ww {

enum class Towards { nearest, zero, above, below };

// A float of `exponent_bits` and `fraction_bits`, besides its sign.
template <int exponent_bits, int fraction_bits>
static inline uint16_t narrowed(double value, Towards towards) {
  constexpr int least = 2 - (1 << (exponent_bits - 1));  // exponent of the least normal number
  constexpr uint32_t infinite = ((1u << exponent_bits) - 1) << fraction_bits;
  const bool is_negative = same_bits<int64_t>(value) < 0;
  const double size = fabs(value);
  if (value != value) return 0x7FFF;
  uint32_t bits = 0;
  if (size == (double)INFINITY)
    bits = infinite;
  else if (size > 0.0) {
    const int exponent = ilogb(size) < least ? least : ilogb(size);
    const double scaled = scalbn(size, fraction_bits - exponent), whole = floor(scaled), rest = scaled - whole;
    bits = ((uint32_t)(exponent - least) << fraction_bits) + (uint32_t)whole;
    bool grows = rest > 0.0 && towards == (is_negative ? Towards::below : Towards::above);
    if (towards == Towards::nearest) grows = rest > 0.5 || (rest == 0.5 && (bits & 1u));
    bits += grows;
    const bool may_be_infinite = towards == Towards::nearest || towards == (is_negative ? Towards::below : Towards::above);
    if (exponent > 1 - least || bits >= infinite) bits = may_be_infinite ? infinite : infinite - 1;
  }
  return (uint16_t)((is_negative ? 1u << (exponent_bits + fraction_bits) : 0u) | bits);
}

// A whole number of 64 bits as a double that rounds to 16 bits as the number itself does: its last bit is set if any bit
// was lost.
template <class Whole>
static inline double odd_double(Whole whole) {
  const bool is_negative = whole < 0;
  unsigned long long size = is_negative ? 0ull - (unsigned long long)whole : (unsigned long long)whole;
  if (size >> 53) size = (size & ~0x7FFull) | ((size & 0x7FFull) ? 0x800ull : 0ull);
  return is_negative ? -(double)size : (double)size;
}

// a * b + c of floats with so few digits that the product is exact in a double; the sum's last bit is set if any bit was
// lost, so that it can be rounded once more.
static inline double odd_fma(float a, float b, float c) {
  const double product = (double)a * (double)b, other = (double)c, sum = product + other;
  if (!(fabs(sum) < (double)INFINITY)) return sum;
  const double part = sum - product, lost = (product - (sum - part)) + (other - part);
  const int64_t bits = same_bits<int64_t>(sum);
  if (lost == 0.0 || (bits & 1)) return sum;
  return same_bits<double>((lost > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1);
}

}  // namespace ww
