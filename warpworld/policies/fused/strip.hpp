// A strip: some agents' ways through some steps, which one worker takes through a whole network.
//
// Its rows are step by step, row t * spread + a for agent a. Agents are spread over whole blocks of rows where a cell
// multiplies each step's, so some rows may be nobody's. Without a memory a strip is a tile of samples, of one step.
#pragma once

#include "convolution.hpp"

namespace fused {

struct Strip {
  int steps, agents, spread;
  int rows;  // steps * spread, in whole blocks
  const uint8_t* begins;  // [steps * spread]: the state is 0 before the step; null where it is nowhere
  const float* state;     // [spread][parts][columns], before the first step: a cell's numbers in whole vectors
  float* after;           // the same after the last step
  int state_stride;

  int live_rows() const { return steps * spread; }
  bool begins_at(int row) const { return begins && begins[row]; }
  // A part of agent a's state before the first step.
  const float* first(int part, int columns, int a) const { return state + a * state_stride + part * columns; }
  float* last(int part, int columns, int a) const { return after + a * state_stride + part * columns; }
};

// Where a strip's rows are in the caller's arrays: those of sequence s are at s * sequence_stride + t * step_stride.
struct Places {
  int64_t count, steps, sequence_stride, step_stride;
  const int64_t* index;  // (count,): which sequences; null for the first ones

  int64_t sequence(int64_t i) const { return index ? index[i] : i; }
  int64_t row(int64_t sequence, int64_t step) const { return sequence * sequence_stride + step * step_stride; }
};

// Rows in memory that are not all behind each other: runs of `length` rows, which begin `stride` rows apart. So lie the
// observations of a group among those of all agents.
struct Runs {
  int64_t length, stride;

  bool are_apart() const { return length != stride; }
  int64_t place(int64_t row) const { return row / length * stride + row % length; }
};

// Rows of observations; fused/calls.py mirrors it.
struct Observed {
  const void* first;
  int64_t row_bytes;
  int64_t are_bytes;  // which gathering.hpp makes floats of; else they are floats

  const char* row(int64_t number) const { return (const char*)first + number * row_bytes; }
};

}  // namespace fused
