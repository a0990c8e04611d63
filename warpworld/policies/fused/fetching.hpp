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

// Rows of some arrays that are still to be fetched, by the lines of memory that a row may lie in.
struct Fetching {
  static constexpr int most_arrays = 9, most_lines = most_arrays * (most_bytes / line_bytes + 1);
  struct Line {
    const char* first;  // of row 0
    int64_t row_bytes;
  };
  Line lines[most_lines];
  int num_lines;
  const int64_t *next, *end;  // numbers of the rows

  void begin(const int64_t* first_row, const int64_t* end_row) { num_lines = 0, next = first_row, end = end_row; }

  // An array, whose rows have so many bytes.
  void add(const void* first, int64_t bytes) {
    if (!first) return;
    const int64_t fetched = fetched_of(bytes);
    for (int64_t byte = 0; byte < fetched; byte += line_bytes) lines[num_lines++] = {(const char*)first + byte, bytes};
    if (line_bytes % bytes || (intptr_t)first % bytes)  // a row may end in the line after its beginning's
      lines[num_lines++] = {(const char*)first + fetched - 1, bytes};
  }
};

FUSED_INLINE void fetch_some(Fetching& those) {
  for (int i = 0; i < rows_between && those.next < those.end; i++, those.next++)
    for (int l = 0; l < those.num_lines; l++)
      __builtin_prefetch(those.lines[l].first + *those.next * those.lines[l].row_bytes);
}

}  // namespace fused
