// Floats as whole numbers, as a GPU makes them of numbers that the type does not hold.
#pragma once

#include "bits.hpp"

namespace ww {

// A number beyond the type becomes its end; NaN becomes 0 or, where 64 bits are involved, the highest bit.
template <class Whole, class Float>
static WW_INLINE Whole saturated(Float whole) {
  constexpr bool is_signed = Whole(-1) < Whole(0);
  constexpr Whole highest = (Whole)(~0ull >> (64 - 8 * sizeof(Whole) + is_signed));
  constexpr Whole lowest = is_signed ? -highest - 1 : 0;
  constexpr Float beyond = (Float)(highest / 2 + 1) * 2;
  if (whole != whole) return sizeof(Whole) == 8 || sizeof(Float) == 8 ? (Whole)(1ull << (8 * sizeof(Whole) - 1)) : 0;
  if (whole >= beyond) return highest;
  if (whole < (Float)lowest) return lowest;
  return (Whole)whole;
}

}  // namespace ww
