// CUDA's functions of two 16-bit or four 8-bit numbers in a word (__vadd4), and its sums followed by a comparison
// (__viaddmax_s32): https://docs.nvidia.com/cuda/cuda-math-api, "SIMD Intrinsics".
#pragma once

#include <stdint.h>

#include "../fiber.hpp"

namespace ww {
static WW_INLINE int clamped(int value, int low, int high) { return value < low ? low : value > high ? high : value; }
static WW_INLINE int larger(int a, int b) { return a > b ? a : b; }
static WW_INLINE int smaller(int a, int b) { return a < b ? a : b; }
static WW_INLINE int apart(int a, int b) { return a > b ? a - b : b - a; }
}  // namespace ww

// Of each pair of numbers a and b: `LOW` and `HIGH` are the ends of their type.
#define WW_PARTS(name, type, list, x, y, expression)                              \
  static WW_INLINE unsigned name list {                                           \
    constexpr int WIDTH = 8 * sizeof(type);                                       \
    [[maybe_unused]] constexpr int LOW = (type)(-1) < 0 ? -(1 << (WIDTH - 1)) : 0, HIGH = LOW + (1 << WIDTH) - 1; \
    unsigned result = 0;                                                          \
    for (int at = 0; at < 32; at += WIDTH) {                                      \
      const int a = (type)((x) >> at);                                            \
      [[maybe_unused]] const int b = (type)((y) >> at);                           \
      result |= ((unsigned)(expression) & (0xFFFFFFFFu >> (32 - WIDTH))) << at;   \
    }                                                                             \
    return result;                                                                \
  }
#define WW_ONE(name, sign, expression)                                        \
  WW_PARTS(name##2, sign##int16_t, (unsigned x), x, x, expression)            \
  WW_PARTS(name##4, sign##int8_t, (unsigned x), x, x, expression)
#define WW_TWO(name, sign, expression)                                        \
  WW_PARTS(name##2, sign##int16_t, (unsigned x, unsigned y), x, y, expression) \
  WW_PARTS(name##4, sign##int8_t, (unsigned x, unsigned y), x, y, expression)

WW_ONE(__vabs, , a < 0 ? -a : a)
WW_ONE(__vabsss, , ww::smaller(a < 0 ? -a : a, HIGH))
WW_ONE(__vneg, , -a)
WW_ONE(__vnegss, , ww::smaller(-a, HIGH))
WW_TWO(__vabsdiffs, , ww::apart(a, b))
WW_TWO(__vabsdiffu, u, ww::apart(a, b))
WW_TWO(__vadd, u, a + b)
WW_TWO(__vaddss, , ww::clamped(a + b, LOW, HIGH))
WW_TWO(__vaddus, u, ww::smaller(a + b, HIGH))
WW_TWO(__vavgs, , (a + b + (a + b >= 0)) >> 1)  // away from zero
WW_TWO(__vavgu, u, (a + b + 1) >> 1)
WW_TWO(__vhaddu, u, (a + b) >> 1)
WW_TWO(__vmaxs, , ww::larger(a, b))
WW_TWO(__vmaxu, u, ww::larger(a, b))
WW_TWO(__vmins, , ww::smaller(a, b))
WW_TWO(__vminu, u, ww::smaller(a, b))
WW_TWO(__vsub, u, a - b)
WW_TWO(__vsubss, , ww::clamped(a - b, LOW, HIGH))
WW_TWO(__vsubus, u, ww::larger(a - b, 0))

// __vcmp...: all bits of a part where it holds. __vset...: its lowest bit.
#define WW_COMPARED(name, sign, comparison)                   \
  WW_TWO(__vcmp##name, sign, a comparison b ? ~0 : 0)         \
  WW_TWO(__vset##name, sign, a comparison b)
WW_COMPARED(eq, u, ==)
WW_COMPARED(ne, u, !=)
WW_COMPARED(ges, , >=)
WW_COMPARED(geu, u, >=)
WW_COMPARED(gts, , >)
WW_COMPARED(gtu, u, >)
WW_COMPARED(les, , <=)
WW_COMPARED(leu, u, <=)
WW_COMPARED(lts, , <)
WW_COMPARED(ltu, u, <)

// Sums of the absolute differences of all parts.
#define WW_SUM(name, type)                                                              \
  static WW_INLINE unsigned name(unsigned x, unsigned y) {                              \
    unsigned sum = 0;                                                                   \
    for (int at = 0; at < 32; at += 8 * (int)sizeof(type))                              \
      sum += (unsigned)ww::apart((type)(x >> at), (type)(y >> at));                     \
    return sum;                                                                         \
  }
WW_SUM(__vsads2, int16_t)
WW_SUM(__vsads4, int8_t)
WW_SUM(__vsadu2, uint16_t)
WW_SUM(__vsadu4, uint8_t)

// ---- of three numbers, and of a sum and a number -------------------------------------------------------------------
// For whole words and for pairs of 16 bits. `_relu` makes negative results 0.
#define WW_WORD(name, type, list, expression) \
  static WW_INLINE type name list { return expression; }
#define WW_PAIR(name, type, expression)                                                           \
  static WW_INLINE unsigned name(unsigned x, unsigned y, unsigned z) {                            \
    unsigned result = 0;                                                                          \
    for (int at = 0; at < 32; at += 16) {                                                         \
      const int a = (type)(x >> at), b = (type)(y >> at), c = (type)(z >> at);                    \
      result |= (unsigned)(uint16_t)(expression) << at;                                           \
    }                                                                                             \
    return result;                                                                                \
  }
#define WW_EXTREME(word, extreme)                                                                          \
  WW_WORD(__vi##word##3_s32, int, (int a, int b, int c), extreme(extreme(a, b), c))                        \
  WW_WORD(__vi##word##3_s32_relu, int, (int a, int b, int c), max(extreme(extreme(a, b), c), 0))           \
  WW_WORD(__vi##word##3_u32, unsigned, (unsigned a, unsigned b, unsigned c), extreme(extreme(a, b), c))    \
  WW_WORD(__vi##word##_s32_relu, int, (int a, int b), max(extreme(a, b), 0))                               \
  WW_WORD(__viadd##word##_s32, int, (int a, int b, int c), extreme((int)((unsigned)a + (unsigned)b), c))   \
  WW_WORD(__viadd##word##_s32_relu, int, (int a, int b, int c),                                            \
          max(extreme((int)((unsigned)a + (unsigned)b), c), 0))                                            \
  WW_WORD(__viadd##word##_u32, unsigned, (unsigned a, unsigned b, unsigned c), extreme(a + b, c))          \
  WW_PAIR(__vi##word##3_s16x2, int16_t, extreme(extreme(a, b), c))                                         \
  WW_PAIR(__vi##word##3_s16x2_relu, int16_t, max(extreme(extreme(a, b), c), 0))                            \
  WW_PAIR(__vi##word##3_u16x2, uint16_t, extreme(extreme(a, b), c))                                        \
  WW_PAIR(__viadd##word##_s16x2, int16_t, extreme((int)(int16_t)(a + b), c))                               \
  WW_PAIR(__viadd##word##_s16x2_relu, int16_t, max(extreme((int)(int16_t)(a + b), c), 0))                  \
  WW_PAIR(__viadd##word##_u16x2, uint16_t, extreme((int)(uint16_t)(a + b), c))                             \
  static WW_INLINE unsigned __vi##word##_s16x2_relu(unsigned x, unsigned y) { return __vi##word##3_s16x2_relu(x, y, y); }
WW_EXTREME(max, max)
WW_EXTREME(min, min)

// The larger or the smaller, and whether it is the first of the two.
#define WW_CHOICE(word, comparison)                                                                          \
  static WW_INLINE int __vib##word##_s32(int a, int b, bool* first) { return (*first = a comparison b) ? a : b; } \
  static WW_INLINE unsigned __vib##word##_u32(unsigned a, unsigned b, bool* first) {                         \
    return (*first = a comparison b) ? a : b;                                                                \
  }                                                                                                          \
  WW_CHOICE_OF_PAIRS(__vib##word##_s16x2, int16_t, comparison)                                               \
  WW_CHOICE_OF_PAIRS(__vib##word##_u16x2, uint16_t, comparison)
#define WW_CHOICE_OF_PAIRS(name, type, comparison)                                                \
  static WW_INLINE unsigned name(unsigned x, unsigned y, bool* high, bool* low) {                 \
    *high = (type)(x >> 16) comparison(type)(y >> 16);                                            \
    *low = (type)x comparison(type) y;                                                            \
    return ((*high ? x : y) & 0xFFFF0000u) | ((*low ? x : y) & 0xFFFFu);                          \
  }
WW_CHOICE(max, >=)
WW_CHOICE(min, <=)

#undef WW_PARTS
#undef WW_ONE
#undef WW_TWO
#undef WW_COMPARED
#undef WW_SUM
#undef WW_WORD
#undef WW_PAIR
#undef WW_EXTREME
#undef WW_CHOICE
#undef WW_CHOICE_OF_PAIRS
