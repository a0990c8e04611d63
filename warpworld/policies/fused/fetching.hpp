// What the next strip reads is prefetched while this one's products are computed, a few rows before each block of them. A
// core waits for only so many lines of memory at a time, so that prefetching everything at once gains nothing.
#pragma once

#include "vectors.hpp"

namespace fused {

constexpr int rows_between = 2;       // that are fetched before a block
constexpr int64_t line_bytes = 64;    // of memory that comes together
constexpr int64_t most_bytes = 512;   // of a row; what follows in a long one comes by itself

constexpr int64_t fetched_of(int64_t bytes) { return bytes < most_bytes ? bytes : most_bytes; }

// Inline, since GCC leaves out calls of a function that does nothing else.
FUSED_INLINE void fetch(const char* row, int64_t bytes) {
  for (int64_t byte = 0; byte < bytes; byte += line_bytes) __builtin_prefetch(row + byte);
  __builtin_prefetch(row + bytes - 1);
}

// Rows of some arrays that are still to be fetched.
struct Fetching {
  struct Array {
    const char* first;
    int64_t bytes, fetched;  // of a row
  };
  Array arrays[8];
  int num_arrays;
  const int64_t *next, *end;  // numbers of the rows

  void add(const void* first, int64_t bytes) {
    if (first) arrays[num_arrays++] = {(const char*)first, bytes, fetched_of(bytes)};
  }
};

FUSED_INLINE void fetch_some(Fetching& those) {
  for (int i = 0; i < rows_between && those.next < those.end; i++, those.next++)
    for (int a = 0; a < those.num_arrays; a++) {
      const Fetching::Array& array = those.arrays[a];
      fetch(array.first + *those.next * array.bytes, array.fetched);
    }
}

}  // namespace fused
