// The variance of numbers, or of what is left of them, in one pass.
#pragma once

#include "losses.hpp"

namespace fused {

// fused/variance.py mirrors it.
struct Variance {
  int64_t count;
  const float *numbers, *less;  // (count,); less may be null
  double found;                 // of the population
};

static void find_variance(Variance& call) {
  Moments moments;
  for (int64_t first = 0; first < call.count; first += Moments::at_once) {
    const int64_t left = call.count - first;
    const int held = left < Moments::at_once ? (int)left : Moments::at_once;
    float some[Moments::at_once];
    for (int i = 0; i < held; i++) some[i] = call.numbers[first + i] - (call.less ? call.less[first + i] : 0.0f);
    moments.add(some, held);
  }
  call.found = moments.squared_differences() / call.count;
}

}  // namespace fused
