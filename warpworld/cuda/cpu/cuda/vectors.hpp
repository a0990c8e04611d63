// CUDA's vector types, with its alignments, and what makes them: float4 v = make_float4(1, 2, 3, 4).
#pragma once

#include "../abi.hpp"

#define WW_VECTOR(type, name, alignment_2, alignment_4) \
  struct name##3 { type x, y, z; };                     \
  WW_BUT_THREE(type, name, alignment_2, alignment_4)
#define WW_BUT_THREE(type, name, alignment_2, alignment_4)                                                    \
  struct name##1 { type x; };                                                                                 \
  struct alignas(alignment_2) name##2 { type x, y; };                                                         \
  struct alignas(alignment_4) name##4 { type x, y, z, w; };                                                   \
  static inline name##1 make_##name##1(type x) { return {x}; }                                                \
  static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                     \
  static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                          \
  static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
WW_VECTOR(signed char, char, 2, 4)
WW_VECTOR(unsigned char, uchar, 2, 4)
WW_VECTOR(short, short, 4, 8)
WW_VECTOR(unsigned short, ushort, 4, 8)
WW_VECTOR(int, int, 8, 16)
WW_BUT_THREE(unsigned, uint, 8, 16)  // abi.hpp has uint3, for threadIdx
WW_VECTOR(long, long, 16, 16)
WW_VECTOR(unsigned long, ulong, 16, 16)
WW_VECTOR(long long, longlong, 16, 16)
WW_VECTOR(unsigned long long, ulonglong, 16, 16)
WW_VECTOR(float, float, 8, 16)
WW_VECTOR(double, double, 16, 16)
#undef WW_VECTOR
#undef WW_BUT_THREE

// Of CUDA 13: four numbers of 8 bytes with their alignment in their names.
#define WW_VECTOR(type, name, alignment)                                                       \
  struct alignas(alignment) name##4_##alignment##a { type x, y, z, w; };                       \
  static inline name##4_##alignment##a make_##name##4_##alignment##a(type x, type y, type z, type w) { return {x, y, z, w}; }
WW_VECTOR(long, long, 16)
WW_VECTOR(long, long, 32)
WW_VECTOR(unsigned long, ulong, 16)
WW_VECTOR(unsigned long, ulong, 32)
WW_VECTOR(long long, longlong, 16)
WW_VECTOR(long long, longlong, 32)
WW_VECTOR(unsigned long long, ulonglong, 16)
WW_VECTOR(unsigned long long, ulonglong, 32)
WW_VECTOR(double, double, 16)
WW_VECTOR(double, double, 32)
#undef WW_VECTOR

// A vector of three whose numbers are 1 where they are not given.
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
