// cuRAND's generator Philox4x32-10 in kernels, on a CPU: the same bits from the same seed, subsequence and offset. Normal
// numbers differ in their last digits, as logarithms and sines do. Its other generators keep states that take tables to
// start; they are refused by name.
//
// A state lives as long as a kernel's variable: start it with the env's clock as its offset, or use random.cuh.
#pragma once

#include <stdint.h>

#include "../cuda/c_math.hpp"
#include "../cuda/vectors.hpp"

struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned STATE;  // the next number of the output
  int boxmuller_flag, boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;

namespace ww {

// Salmon et al. 2011: ten rounds of two products of 32 bits.
static inline uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; round++) {
    const uint64_t first = (uint64_t)0xD2511F53u * c.x, second = (uint64_t)0xCD9E8D57u * c.z;
    c = {(uint32_t)(second >> 32) ^ c.y ^ key.x, (uint32_t)second, (uint32_t)(first >> 32) ^ c.w ^ key.y, (uint32_t)first};
    key.x += 0x9E3779B9u, key.y += 0xBB67AE85u;
  }
  return c;
}

// Adds to the counter, of 128 bits; its upper half is the subsequence.
static inline void advance(uint4& c, uint64_t low, uint64_t high) {
  const uint64_t below = ((uint64_t)c.y << 32 | c.x) + low;
  const uint64_t above = ((uint64_t)c.w << 32 | c.z) + high + (below < low);
  c = {(uint32_t)below, (uint32_t)(below >> 32), (uint32_t)above, (uint32_t)(above >> 32)};
}

constexpr float FROM_32_BITS = 2.3283064365386963e-10f, TURN_32_BITS = 1.4629180792671596e-09f;  // 2^-32, 2 pi 2^-32

static inline float2 box_muller(uint32_t x, uint32_t y) {
  const float u = (float)x * FROM_32_BITS + FROM_32_BITS / 2, v = (float)y * TURN_32_BITS + TURN_32_BITS / 2;
  const float size = sqrtf(-2.0f * logf(u));
  return {size * sinf(v), size * cosf(v)};
}
// 53 bits of two words, in (0, 1].
static inline double double_of(uint32_t x, uint32_t y) {
  return (double)((uint64_t)x ^ (uint64_t)y << 21) * 1.1102230246251565e-16 + 5.5511151231257827e-17;
}
static inline double2 box_muller(uint4 x) {
  const double u = double_of(x.x, x.y);
  const double v = ((double)((uint64_t)x.z ^ (uint64_t)x.w << 21) * 2.2204460492503131e-16 + 1.1102230246251565e-16);
  const double size = sqrt(-2.0 * log(u)), angle = 3.14159265358979323846 * v;
  return {size * sin(angle), size * cos(angle)};
}

}  // namespace ww

// ---- states --------------------------------------------------------------------------------------------------------
static inline void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  const unsigned place = state->STATE + (unsigned)(n & 3);
  ww::advance(state->ctr, n / 4 + place / 4, 0);
  state->STATE = place & 3;
  state->output = ww::philox(state->ctr, state->key);
}
static inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  ww::advance(state->ctr, 0, n);
  state->output = ww::philox(state->ctr, state->key);
}
static inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                               curandStatePhilox4_32_10_t* state) {
  *state = {};
  state->key = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}

// ---- whole numbers -------------------------------------------------------------------------------------------------
static inline unsigned curand(curandStatePhilox4_32_10_t* state) {
  const unsigned numbers[] = {state->output.x, state->output.y, state->output.z, state->output.w};
  const unsigned number = numbers[state->STATE];
  if (++state->STATE == 4) state->STATE = 0, skipahead(4, state);
  return number;
}
static inline uint4 curand4(curandStatePhilox4_32_10_t* state) {
  const uint4 a = state->output;
  skipahead(4, state);
  const uint4 b = state->output;
  switch (state->STATE) {
    case 0: return a;
    case 1: return {a.y, a.z, a.w, b.x};
    case 2: return {a.z, a.w, b.x, b.y};
    default: return {a.w, b.x, b.y, b.z};
  }
}

// ---- uniform, in (0, 1] --------------------------------------------------------------------------------------------
namespace ww {
static inline float uniform_of(uint32_t x) { return (float)x * FROM_32_BITS + FROM_32_BITS / 2; }
}  // namespace ww
static inline float curand_uniform(curandStatePhilox4_32_10_t* state) { return ww::uniform_of(curand(state)); }
static inline float4 curand_uniform4(curandStatePhilox4_32_10_t* state) {
  const uint4 x = curand4(state);
  return {ww::uniform_of(x.x), ww::uniform_of(x.y), ww::uniform_of(x.z), ww::uniform_of(x.w)};
}
static inline double2 curand_uniform2_double(curandStatePhilox4_32_10_t* state) {
  const uint4 x = curand4(state);
  return {ww::double_of(x.x, x.y), ww::double_of(x.z, x.w)};
}
static inline double4 curand_uniform4_double(curandStatePhilox4_32_10_t* state) {
  const double2 a = curand_uniform2_double(state), b = curand_uniform2_double(state);
  return {a.x, a.y, b.x, b.y};
}
// Of 32 bits, as cuRAND's documentation has it for Philox.
static inline double curand_uniform_double(curandStatePhilox4_32_10_t* state) {
  return (double)curand(state) * 2.3283064365386963e-10 + 2.3283064365386963e-10;
}

// ---- normal, and the exponential of it -----------------------------------------------------------------------------
static inline float2 curand_normal2(curandStatePhilox4_32_10_t* state) {
  const unsigned x = curand(state), y = curand(state);
  return ww::box_muller(x, y);
}
static inline float4 curand_normal4(curandStatePhilox4_32_10_t* state) {
  const uint4 x = curand4(state);
  const float2 a = ww::box_muller(x.x, x.y), b = ww::box_muller(x.z, x.w);
  return {a.x, a.y, b.x, b.y};
}
namespace ww {
// One of a pair; the other is kept for the next call of the same kind, 1 normal or 2 log-normal.
static inline float one_normal(curandStatePhilox4_32_10_t* state, int kind) {
  if (state->boxmuller_flag == kind) {
    state->boxmuller_flag = 0;
    return state->boxmuller_extra;
  }
  const float2 both = curand_normal2(state);
  state->boxmuller_flag = kind, state->boxmuller_extra = both.y;
  return both.x;
}
static inline double one_normal_double(curandStatePhilox4_32_10_t* state, int kind) {
  if (state->boxmuller_flag_double == kind) {
    state->boxmuller_flag_double = 0;
    return state->boxmuller_extra_double;
  }
  const double2 both = box_muller(curand4(state));
  state->boxmuller_flag_double = kind, state->boxmuller_extra_double = both.y;
  return both.x;
}
}  // namespace ww

static inline float curand_normal(curandStatePhilox4_32_10_t* state) { return ww::one_normal(state, 1); }
static inline double curand_normal_double(curandStatePhilox4_32_10_t* state) { return ww::one_normal_double(state, 1); }
static inline double2 curand_normal2_double(curandStatePhilox4_32_10_t* state) { return ww::box_muller(curand4(state)); }
static inline double4 curand_normal4_double(curandStatePhilox4_32_10_t* state) {
  const double2 a = curand_normal2_double(state), b = curand_normal2_double(state);
  return {a.x, a.y, b.x, b.y};
}
static inline float curand_log_normal(curandStatePhilox4_32_10_t* state, float mean, float deviation) {
  return expf(mean + deviation * ww::one_normal(state, 2));
}
static inline double curand_log_normal_double(curandStatePhilox4_32_10_t* state, double mean, double deviation) {
  return exp(mean + deviation * ww::one_normal_double(state, 2));
}
