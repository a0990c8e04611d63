// Observations on their way into slab 0: floats as they are, or bytes, of which floats are made, in the order that layers
// read them in.
#pragma once

#include "trunk.hpp"

namespace fused {

// What bytes say, by where their 256 numbers begin below: a flag is 0 or 1, a number is divided by 255, as torch does.
struct Numbers {
  float of_byte[2 * 256];

  constexpr Numbers() : of_byte{} {
    for (int byte = 0; byte < 256; byte++) of_byte[byte] = byte != 0, of_byte[256 + byte] = byte / 255.0f;
  }
};
static constexpr Numbers numbers{};

constexpr int ahead = 12;  // rows that are fetched before they are copied

// Copies a row of so many features; calling memcpy takes longer than copying a few.
FUSED_INLINE void copy_row(int count, const float* from, float* to) {
  int c = 0;
  for (; count - c >= lanes; c += lanes) store(to + c, load(from + c));
  for (; count - c >= 4; c += 4) {
    float few[4];
    memcpy(few, from + c, sizeof few);
    memcpy(to + c, few, sizeof few);
  }
  for (; c < count; c++) {
    to[c] = from[c];
    __asm__ volatile("" ::: "memory");  // keeps the loop from becoming a call
  }
}

static void gather_floats(const Trunk& trunk, int columns, const float* row, float* x) {
  if (!trunk.gathered)
    copy_row(columns, row, x);
  else
    for (int c = 0; c < columns; c++) x[c] = trunk.gathered[c] < 0 ? 0.0f : row[trunk.gathered[c]];
}

static void gather_bytes(const Trunk& trunk, int columns, const uint8_t* row, float* x) {
  for (int c = 0; c < columns; c++)
    x[c] = trunk.first_bytes[c] < 0 ? 0.0f : numbers.of_byte[trunk.of_bytes[c] + row[trunk.first_bytes[c]]];
}

constexpr int of_half = -1, of_float = -2;  // what of_bytes says of numbers of two and of four bytes

FUSED_INLINE float float_of(uint32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

// The number of a half's bits, exact; 0 where it is not finite. A small one is what it adds to 2^-14: no float is
// denormal on the way, which a thread may take for 0.
FUSED_INLINE float number_of_half(uint16_t half) {
  constexpr uint32_t bias = 0x38000000, least_normal = 0x38800000;  // 2^-14
  const uint32_t size = (uint32_t)(half & 0x7FFF) << 13, sign = (uint32_t)(half & 0x8000) << 16;
  const float small = float_of(size + least_normal) - float_of(least_normal);
  const float number = half & 0x7C00 ? float_of(size + bias) : small;
  return (half & 0x7C00) == 0x7C00 ? 0.0f : sign ? -number : number;
}

FUSED_INLINE float finite_or_zero(float number) { return number - number == 0.0f ? number : 0.0f; }

// Bytes among which are those of halves or floats.
static void gather_wide(const Trunk& trunk, int columns, const uint8_t* row, float* x) {
  for (int c = 0; c < columns; c++) {
    const int first = trunk.first_bytes[c], of_bytes = trunk.of_bytes[c];
    if (first < 0) {
      x[c] = 0.0f;
    } else if (of_bytes == of_half) {
      uint16_t half;
      memcpy(&half, row + first, sizeof half);
      x[c] = number_of_half(half);
    } else if (of_bytes == of_float) {
      float number;
      memcpy(&number, row + first, sizeof number);
      x[c] = finite_or_zero(number);
    } else {
      x[c] = numbers.of_byte[of_bytes + row[first]];
    }
  }
}

// Puts the observations at `places` into slab 0; zeros where there is none.
static void gather(const Trunk& trunk, int rows, const int64_t* places, const Observed& observations, float* x) {
  const int columns = trunk.slabs[0].columns;
  const int64_t fetched = fetched_of(observations.row_bytes);
  for (int r = 0; r < rows; r++, x += columns) {
    const char* row = observations.row(places[r]);
    if (r + ahead < rows && places[r + ahead] >= 0) fetch(observations.row(places[r + ahead]), fetched);
    if (places[r] < 0)
      memset(x, 0, columns * sizeof(float));
    else if (observations.are_bytes && trunk.has_wide)
      gather_wide(trunk, columns, (const uint8_t*)row, x);
    else if (observations.are_bytes)
      gather_bytes(trunk, columns, (const uint8_t*)row, x);
    else
      gather_floats(trunk, columns, (const float*)row, x);
  }
}

// Whether what one trunk reads lies where another one reads the same.
static bool is_gathered_alike(const Trunk& one, const Trunk& other) {
  const int columns = one.slabs[0].columns;
  if (columns != other.slabs[0].columns || !one.gathered != !other.gathered) return false;
  return !one.gathered || memcmp(one.gathered, other.gathered, columns * sizeof(int)) == 0;
}

}  // namespace fused
