// CUDA's functions of whole numbers: https://docs.nvidia.com/cuda/cuda-math-api, "Integer Intrinsics".
#pragma once

#include <stdint.h>

#include "vectors.hpp"

// ---- counting and moving bits --------------------------------------------------------------------------------------
static WW_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
static WW_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static WW_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static WW_INLINE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static WW_INLINE int __ffs(int x) { return __builtin_ffs(x); }
static WW_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
static WW_INLINE unsigned __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
static WW_INLINE unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
static WW_INLINE unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }

static WW_INLINE unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
  return __builtin_bswap32(x);
}
static WW_INLINE unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}

// Each of the four digits of `selector` names one of the eight bytes of y:x.
static WW_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t bytes = (uint64_t)y << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; i++) result |= (unsigned)(bytes >> (selector >> 4 * i & 7) * 8 & 0xFF) << 8 * i;
  return result;
}

// Place of the `offset`-th set bit of `mask`, counted from `base` on: upwards if positive, downwards if negative.
static WW_INLINE unsigned __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) return mask >> base & 1 ? base : 0xFFFFFFFFu;
  const int step = offset > 0 ? 1 : -1;
  int left = offset > 0 ? offset : -offset;
  for (int i = (int)base; 0 <= i && i < 32; i += step)
    if (mask >> i & 1 && --left == 0) return (unsigned)i;
  return 0xFFFFFFFFu;
}

static WW_INLINE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}
static WW_INLINE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}
static WW_INLINE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
static WW_INLINE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

// ---- products and means --------------------------------------------------------------------------------------------
static WW_INLINE int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
static WW_INLINE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
static WW_INLINE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static WW_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static WW_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFFu) * (b & 0xFFFFFFu); }
static WW_INLINE int __mul24(int a, int b) {
  return (int)((unsigned)((int)((unsigned)a << 8) >> 8) * (unsigned)((int)((unsigned)b << 8) >> 8));
}
static WW_INLINE int __hadd(int a, int b) { return (int)(((int64_t)a + b) >> 1); }
static WW_INLINE int __rhadd(int a, int b) { return (int)(((int64_t)a + b + 1) >> 1); }
static WW_INLINE unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a + b) >> 1); }
static WW_INLINE unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a + b + 1) >> 1); }
static WW_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
static WW_INLINE unsigned __sad(int a, int b, unsigned c) {
  return (a < b ? (unsigned)b - (unsigned)a : (unsigned)a - (unsigned)b) + c;
}

// ---- dot products of bytes and of halves of a word -----------------------------------------------------------------
static WW_INLINE int __dp4a(char4 a, char4 b, int c) {
  return (int)((unsigned)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w) + (unsigned)c);
}
static WW_INLINE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return (unsigned)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w) + c;
}
static WW_INLINE int __dp4a(int a, int b, int c) { return __dp4a(ww::same_bits<char4>(a), ww::same_bits<char4>(b), c); }
static WW_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return __dp4a(ww::same_bits<uchar4>(a), ww::same_bits<uchar4>(b), c);
}
static WW_INLINE int __dp2a_lo(short2 a, char4 b, int c) { return (int)((unsigned)(a.x * b.x + a.y * b.y) + (unsigned)c); }
static WW_INLINE int __dp2a_hi(short2 a, char4 b, int c) { return (int)((unsigned)(a.x * b.z + a.y * b.w) + (unsigned)c); }
static WW_INLINE unsigned __dp2a_lo(ushort2 a, uchar4 b, unsigned c) { return (unsigned)(a.x * b.x + a.y * b.y) + c; }
static WW_INLINE unsigned __dp2a_hi(ushort2 a, uchar4 b, unsigned c) { return (unsigned)(a.x * b.z + a.y * b.w) + c; }
#define WW_DP2A(name)                                                                      \
  static WW_INLINE int name(int a, int b, int c) {                                         \
    return name(ww::same_bits<short2>(a), ww::same_bits<char4>(b), c);                     \
  }                                                                                        \
  static WW_INLINE unsigned name(unsigned a, unsigned b, unsigned c) {                     \
    return name(ww::same_bits<ushort2>(a), ww::same_bits<uchar4>(b), c);                   \
  }
WW_DP2A(__dp2a_lo)
WW_DP2A(__dp2a_hi)
#undef WW_DP2A
