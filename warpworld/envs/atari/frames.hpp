// A frame of a game, made smaller: each pixel is the mean of the area that it covers, exactly, rounded to the nearest whole
// number, and to the even one of two that are as near.
#pragma once

#include <stdint.h>

#include <vector>

// For each pixel of a line that becomes `small` pixels of `large`: the pixels that it covers, and by how many `small`th parts
// of them.
class Shares {
 public:
  Shares(int large, int small) : first(small), weights(small) {
    for (int pixel = 0; pixel < small; ++pixel) {
      const int begin = pixel * large, end = begin + large;  // a large pixel is `small` parts, a small one `large`
      first[pixel] = begin / small;
      for (int at = first[pixel]; at * small < end; ++at) {
        const int from = at * small > begin ? at * small : begin, to = (at + 1) * small < end ? (at + 1) * small : end;
        weights[pixel].push_back(to - from);
      }
    }
  }

  std::vector<int> first;
  std::vector<std::vector<int>> weights;
};

class Shrinking {
 public:
  Shrinking(int height, int width, int to_height, int to_width)
      : height(height), width(width), rows(height, to_height), columns(width, to_width), sums(width) {}

  // From (height, width) to (to_height, to_width).
  void run(const uint8_t* frame, uint8_t* to) {
    const int area = height * width;
    for (size_t row = 0; row < rows.first.size(); ++row) {
      add_up_rows(frame, (int)row);
      for (size_t column = 0; column < columns.first.size(); ++column) {
        const std::vector<int>& weights = columns.weights[column];
        const int* from = sums.data() + columns.first[column];
        int total = 0;
        for (size_t k = 0; k < weights.size(); ++k) total += weights[k] * from[k];
        const int whole = total / area, twice = 2 * (total - whole * area);
        *to++ = (uint8_t)(whole + (twice > area || (twice == area && whole % 2 == 1)));
      }
    }
  }

 private:
  void add_up_rows(const uint8_t* frame, int row) {
    for (int& sum : sums) sum = 0;
    const uint8_t* from = frame + rows.first[row] * width;
    for (int weight : rows.weights[row]) {
      for (int column = 0; column < width; ++column) sums[column] += weight * from[column];
      from += width;
    }
  }

  int height, width;
  Shares rows, columns;
  std::vector<int> sums;
};
