// A linear layer on a tile of samples, forward, and backward into sums of weight gradients. convolution.hpp has those that
// are taken at several positions of a sample.
//
// Activations lie in slabs: row-major, (samples, columns). A layer reads some of a slab's columns and writes some of
// another one's, whole vectors of them, so that branches are joined without a copy. What torch keeps in another order is
// put in ours as weights are copied. The copy lies padded with zeros, and transposed for the forward product.
#pragma once

#include "fetching.hpp"
#include "sparse.hpp"

namespace fused {

enum Activation { plain, tanh_of, relu_of };

// The gradient at an activation's argument, given the activation's result and the gradient there.
FUSED_INLINE Vector before_activation(int activation, Vector result, Vector gradient) {
  if (activation == tanh_of) return gradient * (1.0f - result * result);
  return activation == relu_of ? select(result <= 0.0f, (Vector){}, gradient) : gradient;
}

// Pieces of one block of memory. Without a block it only counts.
struct Arena {
  char* block;
  size_t used;

  float* take(size_t floats) {
    float* piece = block ? (float*)(block + used) : nullptr;
    used += (floats * sizeof(float) + 63) / 64 * 64;
    return piece;
  }
};

// What layers compute in: a cell's product, [spread][columns of all gates]; what its later steps leave for earlier ones,
// [2][spread][size]; what they multiply, see floats_of_factors; and columns of few numbers. And what is fetched meanwhile.
struct LayerScratch {
  float *product, *carry, *factors;
  int* few;
  Fetching* ahead;
};

// Pointers into torch's memory; fused/calls.py mirrors it.
struct LayerParameters {
  const float *weight, *bias;  // (weight_rows, weight_columns), (weight_rows,)
  float *weight_gradient, *bias_gradient;
};

enum Kind { linear, convolution, gated_mean, lstm, gru };

// fused/trunk.py mirrors it, and says what the fields mean.
struct LayerShape {
  int kind, activation;
  int in_pairs;                             // multiplies pairs of bfloat16
  int in_slab, in_column, inputs;           // reads `inputs` columns; a convolution so many at each position
  int out_slab, out_column, outputs;        // whole vectors; of a convolution for each position, behind each other
  int positions, across;                    // of a convolution: in all, and in a line of them
  int step_across, step_down;               // columns from one position to the next, and to the next line of them
  int piece, piece_step;                    // columns that lie together in a line of a patch, and from one to the next
  int before_slab, extra_slab, state_column, size;  // of cells
  int weight_rows, weight_columns;                  // 0 for what has no weights
  const int *rows, *columns;  // of the weight matrix, for each of ours; -1 for padding
};

constexpr bool is_cell(const LayerShape& shape) { return shape.kind >= gated_mean; }

struct Layer {
  LayerShape shape;
  int in_columns;     // of the copies below: `inputs` in whole vectors
  int* rows;          // as in the shape
  int* columns;
  int are_in_order;   // whether torch has the columns as we have them
  float* given;       // (weight_rows, weight_columns), as they were when they were copied
  float* straight;    // [outputs][in_columns], in pairs [outputs / 2][in_columns]
  float* transposed;  // [inputs][outputs], in pairs [pairs_of(inputs)][outputs]
  float* bias;        // [outputs]
  int* places;        // of a convolution: where each vector of a patch begins
  size_t sums;        // where its part of a chunk's gradients begins: [inputs][outputs], then [outputs]
};

// Floats that a layer needs for what it multiplies: pairs, or a convolution's patches.
static size_t floats_of_factors(const LayerShape& shape) {
  const size_t inputs = rounded_up(shape.inputs, lanes);
  if (shape.in_pairs) return tile / 2 * (inputs + shape.outputs) + lanes;
  return shape.kind == convolution ? tile * inputs + lanes : 0;
}

static size_t products_of(const LayerShape& shape) { return (size_t)shape.inputs * shape.outputs * shape.positions; }

// Whether a layer looks for numbers that are not 0, which may be few in observations.
static bool seeks_few(const LayerShape& shape) { return shape.in_slab == 0 && shape.inputs >= least_depth; }

// Memory for a layer's weights; its shape is set.
static void lay_out(Layer& layer, size_t& num_sums, Arena& arena) {
  const LayerShape& shape = layer.shape;
  layer.in_columns = rounded_up(shape.inputs, lanes);
  if (!shape.weight_rows) return;
  layer.rows = (int*)arena.take(shape.outputs);
  layer.columns = (int*)arena.take(shape.inputs);
  layer.given = arena.take((size_t)shape.weight_rows * shape.weight_columns);
  layer.straight = arena.take((size_t)shape.outputs * layer.in_columns);
  layer.transposed = arena.take((size_t)shape.inputs * shape.outputs);
  layer.bias = arena.take(shape.outputs);
  layer.places = (int*)arena.take(layer.in_columns / lanes);
  layer.are_in_order = true;
  for (int k = 0; k < shape.inputs; k++) layer.are_in_order &= shape.columns[k] == k;
  layer.sums = num_sums;
  num_sums += rounded_up(shape.inputs * shape.outputs + shape.outputs, lanes);
  if (!arena.block) return;
  memcpy(layer.rows, shape.rows, shape.outputs * sizeof(int));
  memcpy(layer.columns, shape.columns, shape.inputs * sizeof(int));
  if (shape.kind != convolution) return;
  for (int c = 0; c < shape.inputs; c += lanes)
    layer.places[c / lanes] = c / shape.piece * shape.piece_step + c % shape.piece;
}

// Puts a row of torch's weights into both copies.
static void put_row(const Layer& layer, int output, const float* row) {
  const int outputs = layer.shape.outputs;
  float *straight = layer.straight + (size_t)output * layer.in_columns, *transposed = layer.transposed + output;
  if (layer.are_in_order)
    for (int k = 0; k < layer.shape.inputs; k++) straight[k] = transposed[(size_t)k * outputs] = row[k];
  else
    for (int k = 0; k < layer.shape.inputs; k++)
      if (layer.columns[k] >= 0) straight[k] = transposed[(size_t)k * outputs] = row[layer.columns[k]];
}

// The same with pairs, of which the copies have half as many rows.
static void put_row_of_pairs(const Layer& layer, int output, const float* row) {
  const size_t outputs = layer.shape.outputs;
  float *straight = layer.straight + (size_t)(output / 2) * layer.in_columns, *transposed = layer.transposed + output;
  for (int k = 0; k < layer.shape.inputs; k++) {
    if (layer.columns[k] < 0) continue;
    const uint16_t half = rounded(row[layer.columns[k]]);
    memcpy((char*)(straight + k) + 2 * (output & 1), &half, sizeof half);
    memcpy((char*)(transposed + k / 2 * outputs) + 2 * (k & 1), &half, sizeof half);
  }
}

// Copies what has changed since the last call. Comparing is quick, and no caller has to announce changed weights.
static void pack(Layer& layer, const LayerParameters& parameters) {
  const LayerShape& shape = layer.shape;
  const size_t width = shape.weight_columns, bytes = width * sizeof(float);
  for (int o = 0; o < shape.outputs; o++) {
    if (layer.rows[o] < 0) continue;
    layer.bias[o] = parameters.bias[layer.rows[o]];
    const float* row = parameters.weight + layer.rows[o] * width;
    float* given = layer.given + layer.rows[o] * width;
    if (memcmp(given, row, bytes) == 0) continue;
    memcpy(given, row, bytes);
    shape.in_pairs ? put_row_of_pairs(layer, o, row) : put_row(layer, o, row);
  }
}

// Writes gradients to where torch keeps them.
static void write_gradients(const Layer& layer, const float* sums, const LayerParameters& parameters) {
  const LayerShape& shape = layer.shape;
  const float *weights = sums + layer.sums, *biases = weights + (size_t)shape.inputs * shape.outputs;
  for (int o = 0; o < shape.outputs; o++) {
    if (layer.rows[o] < 0) continue;
    float* row = parameters.weight_gradient + (size_t)layer.rows[o] * shape.weight_columns;
    for (int k = 0; k < shape.inputs; k++)
      if (layer.columns[k] >= 0) row[layer.columns[k]] = weights[(size_t)k * shape.outputs + o];
    parameters.bias_gradient[layer.rows[o]] = biases[o];
  }
}

template <int Vectors>
static int add_up_some(int samples, const float* d, int stride, int column, int columns, float* sums) {
  for (; columns - column >= Vectors * lanes; column += Vectors * lanes) {
    Vector totals[Vectors];
    FUSED_UNROLL for (int v = 0; v < Vectors; v++) totals[v] = load(sums + column + v * lanes);
    for (int s = 0; s < samples; s++)
      FUSED_UNROLL for (int v = 0; v < Vectors; v++) totals[v] += load(d + s * stride + column + v * lanes);
    FUSED_UNROLL for (int v = 0; v < Vectors; v++) store(sums + column + v * lanes, totals[v]);
  }
  return column;
}

// Adds the sums over samples of `columns` columns: of several at once, so that additions need not wait for one another.
static void add_up(int samples, const float* d, int stride, int columns, float* sums) {
  int column = add_up_some<4>(samples, d, stride, 0, columns, sums);
  column = add_up_some<2>(samples, d, stride, column, columns, sums);
  add_up_some<1>(samples, d, stride, column, columns, sums);
}

// A tanh has a loop of its own: behind a product, whose sums fill the registers, it takes several times as long.
static void apply_tanh(int rows, int columns, float* y, int stride) {
  for (int r = 0; r < rows; r++, y += stride)
    for (int c = 0; c < columns; c += lanes) store(y + c, tanh(load(y + c)));
}

// ---- what a layer multiplies ----------------------------------------------------------------------------------------
// Calls `use` with the terms of a layer's products.
template <class Use>
FUSED_INLINE void with_terms(const Layer& layer, Use use) {
  if (layer.shape.in_pairs)
    use(Pairs{});
  else
    use(Floats{});
}

struct Factors {
  const float* numbers;
  int stride, depth;
};

// Rows that are multiplied along their columns; pairs are put into `room`.
template <class Terms>
FUSED_INLINE Factors along_columns(int rows, const float* x, int stride, int columns, float* room) {
  if constexpr (!Terms::in_pairs) return {x, stride, columns};
  pair_columns(rows, x, stride, columns, room);
  return {room, pairs_of(columns), pairs_of(columns)};
}

// Rows that are multiplied along each column.
template <class Terms>
FUSED_INLINE Factors along_rows(int rows, const float* x, int stride, int columns, float* room) {
  if constexpr (!Terms::in_pairs) return {x, stride, rows};
  pair_rows(rows, x, stride, columns, room);
  return {room, rounded_up(columns, lanes), pairs_of(rows)};
}

// Where pairs of a gradient lie, behind those of what a layer read.
static float* behind_pairs(const LayerShape& shape, const LayerScratch& scratch) {
  return scratch.factors + tile / 2 * (size_t)rounded_up(shape.inputs, lanes);
}

// Where rows are written, or added to what is there; `stride` numbers from one to the next.
struct Output {
  float* rows;
  int stride;
  bool adds;
};

// Copies of these structs, and one question for a block of a product: where each vector is stored by itself, what is read
// behind a pointer must be read again for every one of them.

// Stores a block of a product, or adds it; numbers below `least` become that.
template <int Rows, int Vectors>
FUSED_INLINE void put_block(int row, int column, const Vector (&block)[Rows][Vectors], Vector least, Output out) {
  float* const to = out.rows + row * out.stride + column;
  if (out.adds)
    for_block(0, 0, block, [=](int r, int c, Vector value) FUSED_WITHIN {
      float* const at = to + r * out.stride + c;
      store(at, load(at) + larger(least, value));
    });
  else
    for_block(0, 0, block, [=](int r, int c, Vector value) FUSED_WITHIN {
      store(to + r * out.stride + c, larger(least, value));
    });
}

// Stores a block of gradients, taken through the activation that gave the rows `x`, which lie as those of `out` do; or adds
// it as it is.
template <int Rows, int Vectors>
FUSED_INLINE void put_gradients(int row, int column, const Vector (&block)[Rows][Vectors], int activation,
                                const float* x, Output out) {
  float* const to = out.rows + row * out.stride + column;
  const float* const from = x + row * out.stride + column;
  const auto put = [=](auto change) FUSED_WITHIN {
    for_block(0, 0, block, [=](int r, int c, Vector value) FUSED_WITHIN {
      const int at = r * out.stride + c;
      store(to + at, change(at, value));
    });
  };
  if (out.adds)
    put([=](int at, Vector value) FUSED_WITHIN { return load(to + at) + value; });
  else if (activation == tanh_of)
    put([=](int at, Vector value) FUSED_WITHIN { return before_activation(tanh_of, load(from + at), value); });
  else if (activation == relu_of)
    put([=](int at, Vector value) FUSED_WITHIN { return before_activation(relu_of, load(from + at), value); });
  else
    put([](int, Vector value) FUSED_WITHIN { return value; });
}

// What follows is compiled once for all that calls it, since products take long to compile.

// The product of some rows and a layer's weights, with its bias, through its relu if it has one; a tanh's part comes after.
// Numbers that are not 0 alone are multiplied, if the layer looks for them and there are few.
template <class Terms>
FUSED_ALONE void multiply_rows(const Layer& layer, int rows, const Factors& read, const Output& out,
                               const LayerScratch& scratch) {
  const int outputs = layer.shape.outputs;
  const Vector least = all(layer.shape.activation == relu_of ? 0.0f : -__builtin_inff());
  const auto initial = [bias = layer.bias](int c) { return load(bias + c); };
  const auto finish = [least, out = out](int row, int column, const auto& block) FUSED_WITHIN {
    put_block(row, column, block, least, out);
  };
  Few few{scratch.few};
  if (seeks_few(layer.shape) && find_few(rows, read.numbers, read.stride, read.depth, few))
    product_of_few<Terms>(few, rows, read.numbers, read.stride, layer.transposed, outputs, outputs, initial, finish);
  else
    product<Terms>(rows, read.numbers, read.stride, 1, read.depth, layer.transposed, outputs, outputs, initial, finish,
                   [&] { fetch_some(*scratch.ahead); });
}

// The product of some rows' gradients and weights as they lie in `straight`: through the activation that gave the rows `x`,
// which lie as those of `out` do, or added.
template <class Terms>
FUSED_ALONE void multiply_back(int rows, const Factors& of, const float* weights, int columns, int activation,
                               const float* x, const Output& out, const LayerScratch& scratch) {
  product<Terms>(
      rows, of.numbers, of.stride, 1, of.depth, weights, columns, columns, [](int) { return (Vector){}; },
      [=, out = out](int row, int column, const auto& block) FUSED_WITHIN {
        put_gradients(row, column, block, activation, x, out);
      },
      [&] { fetch_some(*scratch.ahead); });
}

// Adds the transposed product of rows that were multiplied and of gradients.
template <class Terms>
FUSED_ALONE void add_product(const Factors& read, int inputs, const Factors& of, int outputs, float* sums,
                             int sums_stride) {
  add_transposed_product<Terms>(read.depth, read.numbers, read.stride, 1, inputs, of.numbers, of.stride, outputs, sums,
                                sums_stride);
}

// Adds what some rows say of the gradient of a layer's weights; of few numbers as above.
template <class Terms>
FUSED_INLINE void add_multiplied(const Layer& layer, const Factors& read, const Factors& of, float* sums,
                                 const LayerScratch& scratch) {
  const int inputs = layer.shape.inputs, outputs = layer.shape.outputs;
  Few few{scratch.few};
  if (seeks_few(layer.shape) && find_few(read.depth, read.numbers, read.stride, inputs, few))
    add_transposed_product_of_few<Terms>(few, read.depth, read.numbers, read.stride, of.numbers, of.stride, outputs, sums,
                                         outputs);
  else
    add_product<Terms>(read, inputs, of, outputs, sums, outputs);
}

// Adds the gradient of weights, given rows of what they multiplied and of the gradient at what came out.
template <class Terms>
FUSED_INLINE void add_weights_gradient(int samples, const float* x, int x_stride, int inputs, const float* d,
                                       int d_stride, int outputs, float* sums, int sums_stride, float* room) {
  const int at_once = Terms::in_pairs ? tile : samples;
  for (int first = 0; first < samples; first += at_once) {
    const int some = samples - first < at_once ? samples - first : at_once;
    const Factors read = along_rows<Terms>(some, x + (size_t)first * x_stride, x_stride, inputs, room);
    const Factors of = along_rows<Terms>(some, d + (size_t)first * d_stride, d_stride, outputs,
                                         room + tile / 2 * rounded_up(inputs, lanes));
    add_product<Terms>(read, inputs, of, outputs, sums, sums_stride);
  }
}

// ---- a linear layer's products --------------------------------------------------------------------------------------
template <class Terms>
FUSED_ALONE void forward_with(const Layer& layer, int rows, const float* x, int x_stride, float* y, int y_stride,
                              const LayerScratch& scratch) {
  const LayerShape& shape = layer.shape;
  float* const out = y + shape.out_column;
  const Factors read = along_columns<Terms>(rows, x + shape.in_column, x_stride, shape.inputs, scratch.factors);
  multiply_rows<Terms>(layer, rows, read, {out, y_stride, false}, scratch);
  if (shape.activation == tanh_of) apply_tanh(rows, shape.outputs, out, y_stride);
}

template <class Terms>
FUSED_ALONE void add_gradients_with(const Layer& layer, int samples, const float* x, int x_stride, const float* d,
                                    int d_stride, float* sums, const LayerScratch& scratch) {
  const LayerShape& shape = layer.shape;
  float *weights = sums + layer.sums, *biases = weights + (size_t)shape.inputs * shape.outputs;
  const float* const of_outputs = d + shape.out_column;
  const Factors read =
      along_rows<Terms>(samples, x + shape.in_column, x_stride, shape.inputs, scratch.factors);
  const Factors of = along_rows<Terms>(samples, of_outputs, d_stride, shape.outputs, behind_pairs(shape, scratch));
  add_multiplied<Terms>(layer, read, of, weights, scratch);
  add_up(samples, of_outputs, d_stride, shape.outputs, biases);
}

template <class Terms>
FUSED_ALONE void backward_with(const Layer& layer, int rows, const float* d, int d_stride, const float* x, float* to,
                               int x_stride, int activation, bool adds, const LayerScratch& scratch) {
  const LayerShape& shape = layer.shape;
  const Factors of = along_columns<Terms>(rows, d + shape.out_column, d_stride, shape.outputs, scratch.factors);
  multiply_back<Terms>(rows, of, layer.straight, layer.in_columns, activation, x + shape.in_column,
                       {to + shape.in_column, x_stride, adds}, scratch);
}

}  // namespace fused
