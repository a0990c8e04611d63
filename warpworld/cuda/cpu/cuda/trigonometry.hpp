// sinf, cosf and sincosf without branches and calls, so that compilers can make vectors of loops over envs. Their results are
// the same alone and in a vector, and do not depend on the C library. They serve kernels whose file says ENVS_IN_VECTORS; outside
// of vectors they are slower than the library's.
//
// x is taken modulo a quarter turn in double; polynomials of sine and cosine are evaluated in double, and rounded once. Their
// coefficients are minimax ones, of the relative error on -pi/4 .. pi/4. The error is below 0.51 units of the last place where
// |x| is below 2^25; beyond, where neighbouring floats are whole turns apart, the angle is off by up to 2^-53.
#pragma once

#include <string.h>

#include "../fiber.hpp"
#include "c_math.hpp"

namespace ww {

// 2^i modulo 2 pi, -pi .. pi, for i = 0 .. 103: the leading 28 bits, and the rest. The last is for infinity and NaN.
constexpr int most_halvings = 104;
static constexpr double leading_of_power[most_halvings + 1] = {
    0x1p+0, 0x1p+1, -0x1.243f6a8p+1, 0x1.b7812aep+0, -0x1.6cbe3fap+1, 0x1.2b0bad6p-1, 0x1.2b0bad6p+0,
    0x1.2b0bad6p+1, -0x1.9c501fcp+0, 0x1.87ef4acp+1, -0x1.460d4eep-3, -0x1.460d4eep-2, -0x1.460d4eep-1, -0x1.460d4eep+0,
    -0x1.460d4eep+1, 0x1.304999cp+0, 0x1.304999cp+1, -0x1.87586dep+0, -0x1.87586dep+1, 0x1.58e8ec2p-3, 0x1.58e8ec2p-2,
    0x1.58e8ec2p-1, 0x1.58e8ec2p+0, 0x1.58e8ec2p+1, -0x1.c9b6498p-1, -0x1.c9b6498p+0, 0x1.5a8921p+1, -0x1.bcb4a24p-1,
    -0x1.bcb4a24p+0, 0x1.678ac84p+1, -0x1.54a767ep-1, -0x1.54a767ep+0, -0x1.54a767ep+1, 0x1.ebc26bap-1, 0x1.ebc26bap+0,
    -0x1.387cffp+1, 0x1.668ad94p+0, 0x1.668ad94p+1, -0x1.5ca6dfep-1, -0x1.5ca6dfep+0, -0x1.5ca6dfep+1, 0x1.abc6aacp-1,
    0x1.abc6aacp+0, -0x1.7878bfcp+1, 0x1.9a6f588p-2, 0x1.9a6f588p-1, 0x1.9a6f588p+0, -0x1.89d012p+1, 0x1.09f4684p-3,
    0x1.09f4684p-2, 0x1.09f4684p-1, 0x1.09f4684p+0, 0x1.09f4684p+1, -0x1.10569ap+1, 0x1.0392366p+1, -0x1.1d1afdcp+1,
    0x1.d412de4p+0, -0x1.502c8c4p+1, 0x1.07cca42p+0, 0x1.07cca42p+1, -0x1.14a6222p+1, 0x1.f5e64c6p+0, -0x1.2e591e4p+1,
    0x1.8f1a5c4p+0, 0x1.8f1a5c4p+1, -0x1.82ac838p-5, -0x1.82ac838p-4, -0x1.82ac838p-3, -0x1.82ac838p-2, -0x1.82ac838p-1,
    -0x1.82ac838p+0, -0x1.82ac838p+1, 0x1.ee66398p-3, 0x1.ee66398p-2, 0x1.ee66398p-1, 0x1.ee66398p+0, -0x1.35d931p+1,
    0x1.711a112p+0, 0x1.711a112p+1, -0x1.082d21ap-1, -0x1.082d21ap+0, -0x1.082d21ap+1, 0x1.13e5276p+1, -0x1.f8ea37cp+0,
    0x1.2b5532cp+1, -0x1.9b2a0a2p+0, 0x1.8915606p+1, -0x1.214a9bap-3, -0x1.214a9bap-2, -0x1.214a9bap-1, -0x1.214a9bap+0,
    -0x1.214a9bap+1, 0x1.c35466cp+0, -0x1.60eb03cp+1, 0x1.89a58c4p-1, 0x1.89a58c4p+0, 0x1.89a58c4p+1, -0x1.0f45204p-3,
    -0x1.0f45204p-2, -0x1.0f45204p-1, -0x1.0f45204p+0, -0x1.0f45204p+1, 0x1.05b529ep+1, -0x1.18d516ap+1,
    NAN,
};
static constexpr double rest_of_power[most_halvings + 1] = {
    0.0, 0.0, -0x1.10b4611a62633p-28, 0x1.de973dcb3b39ap-29, 0x1.9bc5b961b1acep-29,
    -0x1.4e17960fafbfep-30, -0x1.4e17960fafbfep-29, -0x1.4e17960fafbfep-28, 0x1.4c71cb18f8747p-30, 0x1.b6ed46a6de9d7p-28,
    0x1.d262c335ad7a1p-32, 0x1.d262c335ad7a1p-31, 0x1.d262c335ad7a1p-30, 0x1.d262c335ad7a1p-29, 0x1.d262c335ad7a1p-28,
    0x1.6af3cf0b7aae9p-29, 0x1.6af3cf0b7aae9p-28, -0x1.d666181b6831p-31, -0x1.d666181b6831p-30, -0x1.a7eaaf351b553p-32,
    -0x1.a7eaaf351b553p-31, -0x1.a7eaaf351b553p-30, -0x1.a7eaaf351b553p-29, -0x1.a7eaaf351b553p-28, -0x1.8226fe126436p-30,
    -0x1.8226fe126436p-29, -0x1.c5ca73e0074b5p-30, 0x1.8ccc9eb33ee4bp-33, 0x1.8ccc9eb33ee4bp-32, 0x1.424df4f0ca3fdp-28,
    0x1.cf9e231cc8718p-30, 0x1.cf9e231cc8718p-29, 0x1.cf9e231cc8718p-28, -0x1.403d62b032e76p-30, -0x1.403d62b032e76p-29,
    0x1.af0e3c356ab57p-28, 0x1.bb436614df386p-30, 0x1.bb436614df386p-29, -0x1.55c3ec160cab4p-30, -0x1.55c3ec160cab4p-29,
    -0x1.55c3ec160cab4p-28, 0x1.94b223b92432cp-30, 0x1.94b223b92432cp-29, 0x1.07fb853d839f2p-29, 0x1.8afe657e60255p-32,
    0x1.8afe657e60255p-31, 0x1.8afe657e60255p-30, -0x1.2cd4b96cc9422p-30, -0x1.6d7ee7008f78ap-34, -0x1.6d7ee7008f78ap-33,
    -0x1.6d7ee7008f78ap-32, -0x1.6d7ee7008f78ap-31, -0x1.6d7ee7008f78ap-30, -0x1.c773d49aaa1f8p-28, 0x1.81ccb7e50e243p-28,
    0x1.f2e50eafb9e54p-28, 0x1.ecfcfcf3ac5b5p-29, 0x1.b89137b293f04p-29, 0x1.928b3199eca6ep-29, 0x1.928b3199eca6ep-28,
    -0x1.eb9dfde689157p-28, -0x1.8d0f35655f8f5p-29, 0x1.623c69803e0d8p-28, -0x1.56965f290c0efp-31, -0x1.56965f290c0efp-30,
    0x1.001bd445e5556p-34, 0x1.001bd445e5556p-33, 0x1.001bd445e5556p-32, 0x1.001bd445e5556p-31, 0x1.001bd445e5556p-30,
    0x1.001bd445e5556p-29, 0x1.001bd445e5556p-28, 0x1.0ec09a62d0debp-32, 0x1.0ec09a62d0debp-31, 0x1.0ec09a62d0debp-30,
    0x1.0ec09a62d0debp-29, -0x1.f3c6b791847c5p-36, -0x1.e66658a9814b9p-29, -0x1.e66658a9814b9p-28, 0x1.13f76c94d82d9p-31,
    0x1.13f76c94d82d9p-30, 0x1.13f76c94d82d9p-29, -0x1.db543250c56f4p-28, -0x1.8eb98b77da837p-29, -0x1.f814a975e080fp-30,
    -0x1.97d6baaa5474cp-33, 0x1.ee6deadf7a37dp-29, 0x1.db989c517d499p-32, 0x1.db989c517d499p-31, 0x1.db989c517d499p-30,
    0x1.db989c517d499p-29, 0x1.db989c517d499p-28, 0x1.8fcb337ab9ec9p-29, 0x1.fc5b49815e257p-30, 0x1.dc40bb622ebdap-33,
    0x1.dc40bb622ebdap-32, 0x1.dc40bb622ebdap-31, -0x1.9a43241d6b3c8p-32, -0x1.9a43241d6b3c8p-31, -0x1.9a43241d6b3c8p-30,
    -0x1.9a43241d6b3c8p-29, -0x1.9a43241d6b3c8p-28, 0x1.dc2e18df8bea3p-28, -0x1.58582f5b4a8edp-28,
    NAN,
};

struct Angle {
  double rest;   // -pi/4 .. pi/4
  int quarters;  // of a turn, to add to it
};

static WW_INLINE Angle angle_of(float x) {
  // x = reduced * 2^halvings; 24 bits of x are whole where it is halved
  int bits;
  memcpy(&bits, &x, sizeof bits);
  const int above = ((bits >> 23) & 255) - (127 + 24), halvings = above > 0 ? above : 0;
  const int reduced_bits = bits - (int)((unsigned)halvings << 23);
  float reduced;
  memcpy(&reduced, &reduced_bits, sizeof reduced);
  // exact: 24 and 28 bits
  const double leading = (double)reduced * leading_of_power[halvings];
  // of pi/2, 26 and 26 bits and the rest: products with a whole number below 2^27 are exact. With + 0.0, -0 stays -0.
  const double quarters = rint(leading * 0x1.45f306dc9c883p-1) + 0.0;
  const double rest = leading - quarters * 0x1.921fb5p+0 - quarters * 0x1.110b46p-26;
  return {rest - quarters * 0x1.1a62633145c07p-54 + (double)reduced * rest_of_power[halvings], (int)quarters};
}

// The sine of an angle and so many quarters of a turn.
static WW_INLINE float sine_of(const Angle& angle, int quarters) {
  const double x = angle.rest, square = x * x;
  const double sine = x * (1.0 + square * (-0x1.5555554c70e61p-3 + square * (0x1.11110869b644ap-7 +
                                 square * (-0x1.a00f7e9e8b0b8p-13 + square * 0x1.6cd1d1998b035p-19))));
  const double cosine = 1.0 + square * (-0x1.ffffffcb7d65ep-2 + square * (0x1.55553c76a6d18p-5 +
                            square * (-0x1.6c07f0a42e53bp-10 + square * 0x1.9916715df41a3p-16)));
  const int turned = angle.quarters + quarters;
  const float value = (float)(turned & 1 ? cosine : sine);
  return turned & 2 ? -value : value;
}

}  // namespace ww

extern "C" {
extern inline __attribute__((gnu_inline, always_inline)) float sinf(float x) noexcept {
  return ww::sine_of(ww::angle_of(x), 0);
}
extern inline __attribute__((gnu_inline, always_inline)) float cosf(float x) noexcept {
  return ww::sine_of(ww::angle_of(x), 1);
}
extern inline __attribute__((gnu_inline, always_inline)) void sincosf(float x, float* sine, float* cosine) noexcept {
  const ww::Angle angle = ww::angle_of(x);
  *sine = ww::sine_of(angle, 0);
  *cosine = ww::sine_of(angle, 1);
}
}
