// A frame of a game, made smaller: each pixel is the mean of the area that it covers, exactly, rounded to the nearest whole
// number, and to the even one of two that are as near.
#pragma once

#include <stdint.h>

#include <vector>

// Of a line of `large` pixels that becomes `small` of them: the first pixel that each covers, and by how many `small`th parts
// it covers that one and the next ones: [most][small], zeros behind the last.
struct Shares {
  Shares(int large, int small) : most((large - 1) / small + 2), first(small), weights(small * most) {
    for (int pixel = 0; pixel < small; ++pixel) {
      const int begin = pixel * large, end = begin + large;  // a large pixel is `small` parts, a small one `large`
      first[pixel] = begin / small;
      for (int k = 0; k < most; ++k) {
        const int from = (first[pixel] + k) * small, to = from + small;
        const int share = (to < end ? to : end) - (from > begin ? from : begin);
        weights[k * small + pixel] = share > 0 ? share : 0;
      }
    }
  }

  int most;
  std::vector<int> first, weights;
};

// Loops run over a line, so that compilers make vectors of them.
class Shrinking {
 public:
  Shrinking(int height, int width, int to_height, int to_width)
      : height(height), width(width), to_height(to_height), to_width(to_width), rows(height, to_height),
        columns(width, to_width), sums(width + columns.most), totals(to_width),
        part((uint32_t)((1ull << shift) / (uint64_t)(height * width) + 1)) {}

  // From (height, width) to (to_height, to_width).
  void run(const uint8_t* frame, uint8_t* to) {
    for (int row = 0; row < to_height; ++row, to += to_width) {
      add_up_rows(frame, row);
      add_up_columns();
      round(to);
    }
  }

 private:
  // The library's screens have 2^15 to 2^16 pixels, sums of theirs 24 bits: a product with `part` is exact to the pixel.
  static constexpr int shift = 40;

  void add_up_rows(const uint8_t* frame, int row) {
    const uint8_t* __restrict from = frame + rows.first[row] * width;
    for (int column = 0; column < width; ++column) sums[column] = 0;
    for (int k = 0; k < rows.most; ++k, from += width) {
      const int weight = rows.weights[k * to_height + row];
      if (weight == 0) return;
      for (int column = 0; column < width; ++column) sums[column] += weight * from[column];
    }
  }

  void add_up_columns() {
    const int *first = columns.first.data(), *weights = columns.weights.data(), *from = sums.data();
    int* total = totals.data();
    for (int column = 0; column < to_width; ++column) total[column] = 0;
    for (int k = 0; k < columns.most; ++k, weights += to_width, ++from)
      for (int column = 0; column < to_width; ++column) total[column] += weights[column] * from[first[column]];
  }

  void round(uint8_t* __restrict to) const {
    const uint32_t area = (uint32_t)(height * width);
    for (int column = 0; column < to_width; ++column) {
      const uint32_t total = (uint32_t)totals[column], whole = (uint32_t)((uint64_t)total * part >> shift);
      to[column] = (uint8_t)(whole + (2 * (total - whole * area) + (whole & 1) > area));
    }
  }

  int height, width, to_height, to_width;
  Shares rows, columns;
  std::vector<int> sums, totals;  // of columns of the screen, zeros behind them; of pixels
  uint32_t part;
};
