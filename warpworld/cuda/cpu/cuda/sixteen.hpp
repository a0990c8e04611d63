// A type of 16-bit floats, the type of two of them, and CUDA's functions of both. cuda_fp16.h and cuda_bf16.h include this
// once each, after they have defined
//
//   WW_SIXTEEN, WW_PAIR             the types: __half and __half2
//   WW_JOIN(before, after)          a word around the type's name: WW_JOIN(__float2, _rn) is __float2half_rn
//   WW_JOIN_PAIR(before, after)     the same around the pair's name: WW_JOIN_PAIR(__float2, _rn) is __float2half2_rn
//   WW_BITS(float), WW_FLOAT(bits)  conversions, to nearest and exact
//   WW_NARROWED(double, towards)    bits in any direction
//
// Every operation is done in float or double and rounded to 16 bits once, as a GPU does it.

// ---- the types -----------------------------------------------------------------------------------------------------
struct alignas(2) WW_SIXTEEN {
  uint16_t bits;

  WW_SIXTEEN() = default;
  WW_INLINE WW_SIXTEEN(float value) : bits(WW_BITS(value)) {}
  WW_INLINE WW_SIXTEEN(double value) : bits(WW_NARROWED(value, ww::Towards::nearest)) {}
#define WW_OF_WHOLE(type) WW_INLINE WW_SIXTEEN(type value) : WW_SIXTEEN(ww::odd_double(value)) {}
  WW_OF_WHOLE(short)
  WW_OF_WHOLE(unsigned short)
  WW_OF_WHOLE(int)
  WW_OF_WHOLE(unsigned)
  WW_OF_WHOLE(long)
  WW_OF_WHOLE(unsigned long)
  WW_OF_WHOLE(long long)
  WW_OF_WHOLE(unsigned long long)
#undef WW_OF_WHOLE
  WW_INLINE operator float() const { return WW_FLOAT(bits); }

#define WW_OPERATOR(sign)                                                                                          \
  friend WW_INLINE WW_SIXTEEN operator sign(WW_SIXTEEN a, WW_SIXTEEN b) { return WW_FLOAT(a.bits) sign WW_FLOAT(b.bits); } \
  friend WW_INLINE WW_SIXTEEN& operator sign##=(WW_SIXTEEN& a, WW_SIXTEEN b) { return a = a sign b; }
  WW_OPERATOR(+)
  WW_OPERATOR(-)
  WW_OPERATOR(*)
  WW_OPERATOR(/)
#undef WW_OPERATOR
#define WW_OPERATOR(sign) \
  friend WW_INLINE bool operator sign(WW_SIXTEEN a, WW_SIXTEEN b) { return WW_FLOAT(a.bits) sign WW_FLOAT(b.bits); }
  WW_OPERATOR(==)
  WW_OPERATOR(!=)
  WW_OPERATOR(<)
  WW_OPERATOR(>)
  WW_OPERATOR(<=)
  WW_OPERATOR(>=)
#undef WW_OPERATOR
  friend WW_INLINE WW_SIXTEEN operator+(WW_SIXTEEN a) { return a; }
  friend WW_INLINE WW_SIXTEEN operator-(WW_SIXTEEN a) { return a.bits ^= 0x8000u, a; }
  friend WW_INLINE WW_SIXTEEN& operator++(WW_SIXTEEN& a) { return a += WW_SIXTEEN(1.0f); }
  friend WW_INLINE WW_SIXTEEN& operator--(WW_SIXTEEN& a) { return a -= WW_SIXTEEN(1.0f); }
  friend WW_INLINE WW_SIXTEEN operator++(WW_SIXTEEN& a, int) {
    const WW_SIXTEEN before = a;
    ++a;
    return before;
  }
  friend WW_INLINE WW_SIXTEEN operator--(WW_SIXTEEN& a, int) {
    const WW_SIXTEEN before = a;
    --a;
    return before;
  }
};

struct alignas(4) WW_PAIR {
  WW_SIXTEEN x, y;

  WW_PAIR() = default;
  WW_INLINE WW_PAIR(WW_SIXTEEN x, WW_SIXTEEN y) : x(x), y(y) {}

#define WW_OPERATOR(sign)                                                                                    \
  friend WW_INLINE WW_PAIR operator sign(WW_PAIR a, WW_PAIR b) { return {a.x sign b.x, a.y sign b.y}; }      \
  friend WW_INLINE WW_PAIR& operator sign##=(WW_PAIR& a, WW_PAIR b) { return a = a sign b; }
  WW_OPERATOR(+)
  WW_OPERATOR(-)
  WW_OPERATOR(*)
  WW_OPERATOR(/)
#undef WW_OPERATOR
#define WW_OPERATOR(sign) \
  friend WW_INLINE bool operator sign(WW_PAIR a, WW_PAIR b) { return a.x sign b.x && a.y sign b.y; }
  WW_OPERATOR(==)
  WW_OPERATOR(!=)
  WW_OPERATOR(<)
  WW_OPERATOR(>)
  WW_OPERATOR(<=)
  WW_OPERATOR(>=)
#undef WW_OPERATOR
  friend WW_INLINE WW_PAIR operator+(WW_PAIR a) { return a; }
  friend WW_INLINE WW_PAIR operator-(WW_PAIR a) { return {-a.x, -a.y}; }
};

// ---- conversions ---------------------------------------------------------------------------------------------------
#define WW_FUNCTION_OF(type, name, list, ...) \
  static WW_INLINE type name list { return __VA_ARGS__; }
#define WW_FROM_BITS(...) ww::same_bits<WW_SIXTEEN>((uint16_t)(__VA_ARGS__))
#define WW_EACH_MODE(of_mode)           \
  of_mode(_rn, ww::Towards::nearest, rint) \
  of_mode(_rz, ww::Towards::zero, trunc)   \
  of_mode(_ru, ww::Towards::above, ceil)   \
  of_mode(_rd, ww::Towards::below, floor)

WW_FUNCTION_OF(WW_SIXTEEN, WW_JOIN(__float2, ), (float a), a)
WW_FUNCTION_OF(WW_SIXTEEN, WW_JOIN(__double2, ), (double a), a)
WW_FUNCTION_OF(float, WW_JOIN(__, 2float), (WW_SIXTEEN a), a)
#define WW_MODE(suffix, towards, whole)                                                                          \
  WW_FUNCTION_OF(WW_SIXTEEN, WW_JOIN(__float2, suffix), (float a), WW_FROM_BITS(WW_NARROWED((double)a, towards)))
WW_EACH_MODE(WW_MODE)
#undef WW_MODE

#define WW_WITH_WHOLE(type, name)                                                                                \
  WW_EACH_MODE_OF(type, name, _rn, ww::Towards::nearest, rint)                                                   \
  WW_EACH_MODE_OF(type, name, _rz, ww::Towards::zero, trunc)                                                     \
  WW_EACH_MODE_OF(type, name, _ru, ww::Towards::above, ceil)                                                     \
  WW_EACH_MODE_OF(type, name, _rd, ww::Towards::below, floor)
#define WW_EACH_MODE_OF(type, name, suffix, towards, whole)                                                      \
  WW_FUNCTION_OF(WW_SIXTEEN, WW_JOIN(__##name##2, suffix), (type a),                                             \
                 WW_FROM_BITS(WW_NARROWED(ww::odd_double(a), towards)))                                          \
  WW_FUNCTION_OF(type, WW_JOIN(__, 2##name##suffix), (WW_SIXTEEN a), ww::saturated<type>(__builtin_##whole##f(a)))
WW_WITH_WHOLE(int, int)
WW_WITH_WHOLE(unsigned, uint)
WW_WITH_WHOLE(short, short)
WW_WITH_WHOLE(unsigned short, ushort)
WW_WITH_WHOLE(long long, ll)
WW_WITH_WHOLE(unsigned long long, ull)
#undef WW_WITH_WHOLE
#undef WW_EACH_MODE_OF
#undef WW_EACH_MODE
WW_FUNCTION_OF(signed char, WW_JOIN(__, 2char_rz), (WW_SIXTEEN a), ww::saturated<signed char>(truncf(a)))
WW_FUNCTION_OF(unsigned char, WW_JOIN(__, 2uchar_rz), (WW_SIXTEEN a), ww::saturated<unsigned char>(truncf(a)))
WW_FUNCTION_OF(short, WW_JOIN(__, _as_short), (WW_SIXTEEN a), (short)a.bits)
WW_FUNCTION_OF(unsigned short, WW_JOIN(__, _as_ushort), (WW_SIXTEEN a), a.bits)
WW_FUNCTION_OF(WW_SIXTEEN, WW_JOIN(__short_as_, ), (short a), WW_FROM_BITS(a))
WW_FUNCTION_OF(WW_SIXTEEN, WW_JOIN(__ushort_as_, ), (unsigned short a), WW_FROM_BITS(a))

// ---- pairs ---------------------------------------------------------------------------------------------------------
WW_FUNCTION_OF(WW_PAIR, WW_JOIN_PAIR(make_, ), (WW_SIXTEEN x, WW_SIXTEEN y), {x, y})
WW_FUNCTION_OF(WW_PAIR, WW_HALVES_TO_PAIR, (WW_SIXTEEN x, WW_SIXTEEN y), {x, y})
WW_FUNCTION_OF(WW_PAIR, WW_JOIN_PAIR(WW_JOIN(__, 2), ), (WW_SIXTEEN a), {a, a})
WW_FUNCTION_OF(WW_PAIR, WW_JOIN_PAIR(__float2, _rn), (float a), {a, a})
WW_FUNCTION_OF(WW_PAIR, WW_JOIN_PAIR(__floats2, _rn), (float x, float y), {x, y})
WW_FUNCTION_OF(WW_PAIR, WW_JOIN_PAIR(__float22, _rn), (float2 a), {a.x, a.y})
WW_FUNCTION_OF(float2, WW_JOIN_PAIR(__, 2float2), (WW_PAIR a), {a.x, a.y})
WW_FUNCTION_OF(float, __low2float, (WW_PAIR a), a.x)
WW_FUNCTION_OF(float, __high2float, (WW_PAIR a), a.y)
WW_FUNCTION_OF(WW_SIXTEEN, WW_JOIN(__low2, ), (WW_PAIR a), a.x)
WW_FUNCTION_OF(WW_SIXTEEN, WW_JOIN(__high2, ), (WW_PAIR a), a.y)
WW_FUNCTION_OF(WW_PAIR, WW_JOIN_PAIR(__low2, ), (WW_PAIR a), {a.x, a.x})
WW_FUNCTION_OF(WW_PAIR, WW_JOIN_PAIR(__high2, ), (WW_PAIR a), {a.y, a.y})
WW_FUNCTION_OF(WW_PAIR, WW_JOIN_PAIR(__lows2, ), (WW_PAIR a, WW_PAIR b), {a.x, b.x})
WW_FUNCTION_OF(WW_PAIR, WW_JOIN_PAIR(__highs2, ), (WW_PAIR a, WW_PAIR b), {a.y, b.y})
WW_FUNCTION_OF(WW_PAIR, __lowhigh2highlow, (WW_PAIR a), {a.y, a.x})

// ---- arithmetic: of one number, and of the parts of a pair ----------------------------------------------------------
#define WW_LIST_1 (WW_SIXTEEN a)
#define WW_LIST_2 (WW_SIXTEEN a, WW_SIXTEEN b)
#define WW_LIST_3 (WW_SIXTEEN a, WW_SIXTEEN b, WW_SIXTEEN c)
#define WW_BOTH_1(name, of_pair, ...)                        \
  WW_FUNCTION_OF(WW_SIXTEEN, name, WW_LIST_1, __VA_ARGS__)   \
  WW_FUNCTION_OF(WW_PAIR, of_pair, (WW_PAIR a), {name(a.x), name(a.y)})
#define WW_BOTH_2(name, of_pair, ...)                        \
  WW_FUNCTION_OF(WW_SIXTEEN, name, WW_LIST_2, __VA_ARGS__)   \
  WW_FUNCTION_OF(WW_PAIR, of_pair, (WW_PAIR a, WW_PAIR b), {name(a.x, b.x), name(a.y, b.y)})
#define WW_BOTH_3(name, of_pair, ...)                        \
  WW_FUNCTION_OF(WW_SIXTEEN, name, WW_LIST_3, __VA_ARGS__)   \
  WW_FUNCTION_OF(WW_PAIR, of_pair, (WW_PAIR a, WW_PAIR b, WW_PAIR c), {name(a.x, b.x, c.x), name(a.y, b.y, c.y)})

#define WW_WITHIN_ONE(value) WW_SIXTEEN(__saturatef(value))
WW_BOTH_2(__hadd, __hadd2, a + b)
WW_BOTH_2(__hadd_rn, __hadd2_rn, a + b)
WW_BOTH_2(__hadd_sat, __hadd2_sat, WW_WITHIN_ONE(a + b))
WW_BOTH_2(__hsub, __hsub2, a - b)
WW_BOTH_2(__hsub_rn, __hsub2_rn, a - b)
WW_BOTH_2(__hsub_sat, __hsub2_sat, WW_WITHIN_ONE(a - b))
WW_BOTH_2(__hmul, __hmul2, a* b)
WW_BOTH_2(__hmul_rn, __hmul2_rn, a* b)
WW_BOTH_2(__hmul_sat, __hmul2_sat, WW_WITHIN_ONE(a* b))
WW_BOTH_2(__hdiv, __h2div, a / b)
WW_BOTH_3(__hfma, __hfma2, WW_FROM_BITS(WW_NARROWED(ww::odd_fma(a, b, c), ww::Towards::nearest)))
WW_BOTH_3(__hfma_sat, __hfma2_sat, WW_WITHIN_ONE(__hfma(a, b, c)))
WW_BOTH_3(__hfma_relu, __hfma2_relu, (float)__hfma(a, b, c) < 0.0f ? WW_SIXTEEN(0.0f) : __hfma(a, b, c))
WW_BOTH_1(__hneg, __hneg2, -a)
WW_BOTH_1(__habs, __habs2, WW_FROM_BITS(a.bits & 0x7FFFu))
WW_FUNCTION_OF(WW_PAIR, __hcmadd, (WW_PAIR a, WW_PAIR b, WW_PAIR c),
               {__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))})

// NaN loses against a number, and wins in the _nan ones. -0 is less than +0.
#define WW_IS_NAN(a) ((a.bits & 0x7FFFu) > WW_INFINITE_BITS)
#define WW_ORDER(a) ((a).bits & 0x8000u ? -(int)((a).bits & 0x7FFFu) - 1 : (int)(a).bits)
#define WW_CHOSEN(sign) \
  WW_IS_NAN(a) ? (WW_IS_NAN(b) ? WW_FROM_BITS(0x7FFF) : b) : WW_IS_NAN(b) ? a : WW_ORDER(a) sign WW_ORDER(b) ? a : b
WW_BOTH_2(__hmax, __hmax2, WW_CHOSEN(>))
WW_BOTH_2(__hmin, __hmin2, WW_CHOSEN(<))
WW_BOTH_2(__hmax_nan, __hmax2_nan, WW_IS_NAN(a) || WW_IS_NAN(b) ? WW_FROM_BITS(0x7FFF) : __hmax(a, b))
WW_BOTH_2(__hmin_nan, __hmin2_nan, WW_IS_NAN(a) || WW_IS_NAN(b) ? WW_FROM_BITS(0x7FFF) : __hmin(a, b))

// ---- comparisons: ordered ones are false of NaN, those with a u are true --------------------------------------------
#define WW_COMPARED(name, sign)                            \
  WW_COMPARED_AS(name, , a sign b)                         \
  WW_COMPARED_AS(name, u, (a sign b) || WW_IS_NAN(a) || WW_IS_NAN(b))
#define WW_COMPARED_AS(name, u, ...)                                                                                \
  WW_FUNCTION_OF(bool, __h##name##u, WW_LIST_2, __VA_ARGS__)                                                        \
  WW_FUNCTION_OF(WW_PAIR, __h##name##u##2, (WW_PAIR a, WW_PAIR b),                                                  \
                 {(float)__h##name##u(a.x, b.x), (float)__h##name##u(a.y, b.y)})                                    \
  WW_FUNCTION_OF(unsigned, __h##name##u##2_mask, (WW_PAIR a, WW_PAIR b),                                            \
                 (__h##name##u(a.x, b.x) ? 0xFFFFu : 0u) | (__h##name##u(a.y, b.y) ? 0xFFFF0000u : 0u))             \
  WW_FUNCTION_OF(bool, __hb##name##u##2, (WW_PAIR a, WW_PAIR b), __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y))
WW_COMPARED(eq, ==)
WW_COMPARED(ne, != b && a == a && b == b && a !=)
WW_COMPARED(lt, <)
WW_COMPARED(le, <=)
WW_COMPARED(gt, >)
WW_COMPARED(ge, >=)
#undef WW_COMPARED
#undef WW_COMPARED_AS
WW_FUNCTION_OF(bool, __hisnan, WW_LIST_1, WW_IS_NAN(a))
WW_FUNCTION_OF(int, __hisinf, WW_LIST_1, (a.bits & 0x7FFFu) != WW_INFINITE_BITS ? 0 : a.bits & 0x8000u ? -1 : 1)
WW_FUNCTION_OF(WW_PAIR, __hisnan2, (WW_PAIR a), {(float)__hisnan(a.x), (float)__hisnan(a.y)})

// ---- mathematics ---------------------------------------------------------------------------------------------------
WW_BOTH_1(hceil, h2ceil, ceilf(a))
WW_BOTH_1(hfloor, h2floor, floorf(a))
WW_BOTH_1(hrint, h2rint, rintf(a))
WW_BOTH_1(htrunc, h2trunc, truncf(a))
WW_BOTH_1(hcos, h2cos, cos((double)(float)a))
WW_BOTH_1(hsin, h2sin, sin((double)(float)a))
WW_BOTH_1(htanh, h2tanh, tanh((double)(float)a))
WW_BOTH_1(htanh_approx, h2tanh_approx, htanh(a))
WW_BOTH_1(hexp, h2exp, exp((double)(float)a))
WW_BOTH_1(hexp2, h2exp2, exp2((double)(float)a))
WW_BOTH_1(hexp10, h2exp10, exp10((double)(float)a))
WW_BOTH_1(hlog, h2log, log((double)(float)a))
WW_BOTH_1(hlog2, h2log2, log2((double)(float)a))
WW_BOTH_1(hlog10, h2log10, log10((double)(float)a))
WW_BOTH_1(hrcp, h2rcp, 1.0 / (double)(float)a)
WW_BOTH_1(hrsqrt, h2rsqrt, 1.0 / sqrt((double)(float)a))
WW_BOTH_1(hsqrt, h2sqrt, sqrt((double)(float)a))

#undef WW_FUNCTION_OF
#undef WW_FROM_BITS
#undef WW_LIST_1
#undef WW_LIST_2
#undef WW_LIST_3
#undef WW_BOTH_1
#undef WW_BOTH_2
#undef WW_BOTH_3
#undef WW_WITHIN_ONE
#undef WW_IS_NAN
#undef WW_ORDER
#undef WW_CHOSEN
#undef WW_SIXTEEN
#undef WW_PAIR
#undef WW_JOIN
#undef WW_JOIN_PAIR
#undef WW_HALVES_TO_PAIR
#undef WW_BITS
#undef WW_FLOAT
#undef WW_NARROWED
#undef WW_INFINITE_BITS
