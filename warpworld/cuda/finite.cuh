// Numbers that are neither NaN nor infinite, even where the compiler may assume that there are none.
#pragma once

#include <warpworld.cuh>

constexpr unsigned INFINITE = 0x7F800000u;  // the exponent of NaN and of the infinities

__device__ inline bool is_finite(float number) { return (__float_as_uint(number) & INFINITE) != INFINITE; }
