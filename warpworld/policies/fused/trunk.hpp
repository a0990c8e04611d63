// Everything before the last layers of an actor, of a critic, or of both: layers and cells in order, on one strip.
#pragma once

#include "cell.hpp"

namespace fused {

// fused/trunk.py mirrors it, and says what the fields mean.
struct SlabShape {
  int columns, activation;
  int is_summed;  // several things read it: its gradient is added up, in memory of its own
  int is_kept;    // its gradient has memory of its own, since its numbers are wanted to the end
};

// fused/trunk.py mirrors it.
struct TrunkShape {
  int num_slabs, num_layers;
  const SlabShape* slabs;
  const LayerShape* layers;
  int features;          // numbers in an observation
  const int* gathered;   // (columns of slab 0,): which feature lies there, -1 for padding; null where all lie in order
  const int* of_bytes;   // (columns of slab 0,): what bytes there say, see gathering.hpp; null where none may be read
  const int* first_bytes;  // (columns of slab 0,): the first of a feature's bytes in a row of them, -1 for padding
  int top;               // the slab that heads read
  int state_parts, part_size;  // of the recurrent state
  int steps_multiply;    // a cell multiplies each step's rows
};

constexpr int max_layers = 48, max_slabs = 64;

struct Trunk {
  TrunkShape shape;
  Layer layers[max_layers];
  SlabShape slabs[max_slabs];
  int *gathered, *of_bytes, *first_bytes;
  bool has_wide;  // bytes that several make one number of
  size_t row_floats;  // of all slabs and gradients, a row
  int widest_gates, widest_cell;
  size_t factor_floats, few_ints;  // of its layers, the most

  int state_columns() const { return shape.state_parts * rounded_up(shape.part_size, lanes); }
  int state_size() const { return shape.state_parts * shape.part_size; }
};

// What one worker computes in; for `rows` rows.
struct Scratch {
  float* slabs;
  LayerScratch layers;
  float *state, *after;
  uint8_t *begins, *counts;
  int64_t *rows, *places;  // of the strip's rows: their numbers, and where their observations are
};

// Pointers to a worker's slabs, for a trunk.
struct Slabs {
  float *values[max_slabs], *deltas[max_slabs];
};

static int* copied(const int* from, int count, Arena& arena) {
  if (!from) return nullptr;
  int* const to = (int*)arena.take(count);
  if (arena.block) memcpy(to, from, count * sizeof(int));
  return to;
}

static void lay_out(Trunk& trunk, const TrunkShape& shape, size_t& num_sums, Arena& arena) {
  trunk.shape = shape;
  trunk.row_floats = 0;
  trunk.widest_gates = trunk.widest_cell = 0;
  trunk.factor_floats = trunk.few_ints = 0;
  for (int i = 0; i < shape.num_slabs; i++) {
    trunk.slabs[i] = shape.slabs[i];
    trunk.row_floats += rounded_up(shape.slabs[i].columns, lanes) * (i > 0 && shape.slabs[i].is_kept ? 2 : 1);
  }
  for (int i = 0; i < shape.num_layers; i++) {
    trunk.layers[i].shape = shape.layers[i];
    lay_out(trunk.layers[i], num_sums, arena);
    const size_t factors = floats_of_factors(shape.layers[i]);
    if (factors > trunk.factor_floats) trunk.factor_floats = factors;
    if (seeks_few(shape.layers[i]) && ints_of_few(shape.layers[i].inputs) > trunk.few_ints)
      trunk.few_ints = ints_of_few(shape.layers[i].inputs);
    if (!is_cell(shape.layers[i])) continue;
    const int size = rounded_up(shape.layers[i].size, lanes);
    if (shape.layers[i].outputs > trunk.widest_gates) trunk.widest_gates = shape.layers[i].outputs;
    if (size > trunk.widest_cell) trunk.widest_cell = size;
  }
  trunk.gathered = copied(shape.gathered, shape.slabs[0].columns, arena);
  trunk.of_bytes = copied(shape.of_bytes, shape.slabs[0].columns, arena);
  trunk.first_bytes = copied(shape.first_bytes, shape.slabs[0].columns, arena);
  trunk.has_wide = false;
  for (int c = 0; shape.of_bytes && c < shape.slabs[0].columns; c++) trunk.has_wide |= shape.of_bytes[c] < 0;
}

static Slabs slabs_of(const Trunk& trunk, const Scratch& scratch, int rows) {
  Slabs slabs;
  float* next = scratch.slabs;
  const auto take = [&](int columns) {
    float* piece = next;
    next += (size_t)rounded_up(columns, lanes) * rows;
    return piece;
  };
  for (int i = 0; i < trunk.shape.num_slabs; i++) {
    slabs.values[i] = take(trunk.slabs[i].columns);
    slabs.deltas[i] = i > 0 && trunk.slabs[i].is_kept ? take(trunk.slabs[i].columns) : slabs.values[i];
  }
  return slabs;
}

static CellSlabs cell_slabs(const Slabs& slabs, const LayerShape& shape) {
  return {slabs.values[shape.in_slab],     slabs.values[shape.out_slab],  slabs.values[shape.before_slab],
          slabs.values[shape.extra_slab], slabs.deltas[shape.out_slab], rounded_up(shape.size, lanes)};
}

static int part_of(const LayerShape& shape) { return shape.state_column / shape.size; }

// Calls `use(first row, rows)` for each tile of a strip.
template <class Use>
FUSED_INLINE void for_tiles(int rows, Use use) {
  for (int first = 0; first < rows; first += tile) use(first, rows - first < tile ? rows - first : tile);
}

static void keep_state(const Strip& strip, int part, const float* slab, int size) {
  for (int a = 0; a < strip.spread; a++)
    memcpy(strip.last(part, size, a), slab + ((size_t)(strip.steps - 1) * strip.spread + a) * size, size * sizeof(float));
}

static void forward_cell(const Layer& layer, const Strip& strip, const CellSlabs& slabs, const LayerScratch& scratch) {
  const int part = part_of(layer.shape);
  if (layer.shape.kind == gated_mean) forward_mean(strip, part, slabs);
  if (layer.shape.kind == lstm) forward_lstm(strip, part, layer, slabs, scratch);
  if (layer.shape.kind == gru) forward_gru(strip, part, layer, slabs, scratch);
  if (!strip.after) return;
  keep_state(strip, part, slabs.hidden, slabs.size);
  if (layer.shape.kind == lstm) keep_state(strip, part + 1, slabs.extra, slabs.size);
}

// From slab 0 to the top one.
static void forward(const Trunk& trunk, const Strip& strip, const Slabs& slabs, const Scratch& scratch) {
  for (int i = 0; i < trunk.shape.num_layers; i++) {
    const Layer& layer = trunk.layers[i];
    const LayerShape& shape = layer.shape;
    if (is_cell(shape)) {
      forward_cell(layer, strip, cell_slabs(slabs, shape), scratch.layers);
      continue;
    }
    const int from = trunk.slabs[shape.in_slab].columns, to = trunk.slabs[shape.out_slab].columns;
    for_tiles(strip.rows, [&](int first, int rows) {
      forward(layer, rows, slabs.values[shape.in_slab] + (size_t)first * from, from,
              slabs.values[shape.out_slab] + (size_t)first * to, to, scratch.layers);
    });
  }
}

static void backward_cell(const Layer& layer, const Strip& strip, const CellSlabs& slabs, const LayerScratch& scratch,
                          float* sums) {
  if (layer.shape.kind == gated_mean) backward_mean(strip, part_of(layer.shape), slabs, scratch.carry);
  if (layer.shape.kind == lstm) backward_lstm(strip, part_of(layer.shape), layer, slabs, scratch, sums);
  if (layer.shape.kind == gru) backward_gru(strip, layer, slabs, scratch, sums);
}

// A gradient that was added up goes through the activation that made its slab.
static void through_activation(int activation, const float* x, float* d, size_t count) {
  for (size_t i = 0; i < count; i += lanes) store(d + i, before_activation(activation, load(x + i), load(d + i)));
}

// Gradients that are added up begin with zeros.
static void clear_sums(const Trunk& trunk, const Strip& strip, const Slabs& slabs) {
  for (int i = 1; i < trunk.shape.num_slabs; i++)
    if (trunk.slabs[i].is_summed)
      memset(slabs.deltas[i], 0, (size_t)strip.rows * trunk.slabs[i].columns * sizeof(float));
}

// Adds the weights' gradients to `sums`, given the gradient of the top slab. `samples` rows of the strip are live.
static void backward(const Trunk& trunk, const Strip& strip, int samples, const Slabs& slabs, const Scratch& scratch,
                     float* sums) {
  bool is_through[max_slabs] = {};
  for (int i = trunk.shape.num_layers - 1; i >= 0; i--) {
    const Layer& layer = trunk.layers[i];
    const LayerShape& shape = layer.shape;
    const SlabShape &in = trunk.slabs[shape.in_slab], &out = trunk.slabs[shape.out_slab];
    float* const d = slabs.deltas[shape.out_slab];
    if (out.is_summed && !is_through[shape.out_slab]) {
      through_activation(out.activation, slabs.values[shape.out_slab], d, (size_t)strip.rows * out.columns);
      is_through[shape.out_slab] = true;
    }
    if (is_cell(shape)) {
      backward_cell(layer, strip, cell_slabs(slabs, shape), scratch.layers, sums);
      continue;
    }
    const float* const x = slabs.values[shape.in_slab];
    float* const to = slabs.deltas[shape.in_slab];
    for_tiles(strip.rows, [&](int first, int rows) {
      const int live = samples - first < rows ? samples - first : rows;
      const float *of_tile = d + (size_t)first * out.columns, *read = x + (size_t)first * in.columns;
      add_gradients(layer, live, read, in.columns, of_tile, out.columns, sums, scratch.layers);
      if (shape.in_slab)
        backward(layer, rows, of_tile, out.columns, read, to + (size_t)first * in.columns, in.columns, in.activation,
                 in.is_summed, scratch.layers);
    });
  }
}

}  // namespace fused
