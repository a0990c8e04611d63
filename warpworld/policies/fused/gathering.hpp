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
    x[c] = trunk.gathered[c] < 0 ? 0.0f : numbers.of_byte[trunk.of_bytes[c] + row[trunk.gathered[c]]];
}

// Puts the observations at `places` into slab 0; zeros where there is none.
static void gather(const Trunk& trunk, int rows, const int64_t* places, const Observed& observations, float* x) {
  const int columns = trunk.slabs[0].columns, features = trunk.shape.features;
  const int64_t fetched = fetched_of(features * observations.number_bytes);
  for (int r = 0; r < rows; r++, x += columns) {
    const char* row = observations.row(places[r], features);
    if (r + ahead < rows && places[r + ahead] >= 0) fetch(observations.row(places[r + ahead], features), fetched);
    if (places[r] < 0)
      memset(x, 0, columns * sizeof(float));
    else if (observations.number_bytes == 1)
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
