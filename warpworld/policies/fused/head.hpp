// A last layer: from a trunk's top slab to outputs, which lie the other way round, outputs[o * tile + s], since losses work
// on vectors of samples.
#pragma once

#include "trunk.hpp"

namespace fused {

constexpr int narrow = lanes / 2;  // up to so many outputs are dot products; more are a matrix product

// fused/trunk.py mirrors it.
struct HeadShape {
  int trunk, inputs, outputs;  // `inputs` are the columns of the trunk's top slab
  int weight_columns;
  const int *rows, *columns;  // as a layer's
};

// Its weights' copies are a layer's, with as many outputs as there are; its sums are [outputs][inputs], then [outputs].
struct Head {
  Layer layer;
  int trunk, outputs;
};

static void lay_out(Head& head, const HeadShape& shape, size_t& num_sums, Arena& arena) {
  head.trunk = shape.trunk;
  head.outputs = shape.outputs;
  LayerShape& layer = head.layer.shape;
  layer = LayerShape{};
  layer.inputs = shape.inputs;
  layer.outputs = rounded_up(shape.outputs, lanes);
  layer.positions = 1;
  layer.weight_rows = shape.outputs;
  layer.weight_columns = shape.weight_columns;
  layer.rows = shape.rows;
  layer.columns = shape.columns;
  lay_out(head.layer, num_sums, arena);
}

// Products of one output's weights and some rows, whose sums over the lanes are still to be taken.
template <int Rows>
FUSED_INLINE void multiply(const Head& head, int output, const float* x, Vector* products) {
  const int columns = head.layer.in_columns;
  const float* weights = head.layer.straight + output * columns;
  Vector added[Rows] = {};
  for (int c = 0; c < columns; c += lanes) {
    const Vector weight = load(weights + c);
    FUSED_UNROLL for (int r = 0; r < Rows; r++) added[r] += load(x + r * columns + c) * weight;
  }
  FUSED_UNROLL for (int r = 0; r < Rows; r++) products[r] = added[r];
}

// Numbers are added up in one order, wherever a row lies.
static void few_outputs(const Head& head, int rows, const float* x, float* outputs) {
  for (int s = 0; s < rows; s += lanes) {
    const int some = rows - s < lanes ? rows - s : lanes;
    const float* first = x + s * head.layer.in_columns;
    for (int o = 0; o < head.outputs; o++) {
      Vector products[lanes] = {};
      if (some == lanes)
        multiply<lanes>(head, o, first, products);
      else
        for (int r = 0; r < some; r++) multiply<1>(head, o, first + r * head.layer.in_columns, products + r);
      store_part(outputs + o * tile + s, sums(products) + head.layer.bias[o], some);
    }
  }
}

static void many_outputs(const Head& head, int rows, const float* x, float* outputs) {
  const Layer& layer = head.layer;
  product<Floats>(
      rows, x, layer.in_columns, 1, layer.shape.inputs, layer.transposed, layer.shape.outputs, layer.shape.outputs,
      [&](int c) { return load(layer.bias + c); },
      [&](int row, int column, const auto& block) FUSED_WITHIN {
        constexpr int width = sizeof block[0] / sizeof(float), height = sizeof block / sizeof block[0];
        float numbers[height * width];
        for_block(0, 0, block, [&](int r, int c, Vector value) FUSED_WITHIN { store(numbers + r * width + c, value); });
        for (int c = 0; c < width && column + c < head.outputs; c++)
          for (int r = 0; r < height; r++) outputs[(column + c) * tile + row + r] = numbers[r * width + c];
      });
}

// x: (rows, columns of the top slab); `rows` is a multiple of row_block, and at most a tile.
static void forward(const Head& head, int rows, const float* x, float* outputs) {
  if (head.outputs <= narrow)
    few_outputs(head, rows, x, outputs);
  else
    many_outputs(head, rows, x, outputs);
}

// Adds the gradients of its weights, given those of its outputs, (outputs, tile), which are 0 for rows beyond `samples`.
static void add_gradients(const Head& head, int samples, const float* x, const float* of_outputs, float* sums) {
  const int columns = head.layer.in_columns;
  float *weights = sums + head.layer.sums, *biases = weights + (size_t)head.outputs * columns;
  add_transposed_product<Floats>(samples, of_outputs, 1, tile, head.outputs, x, columns, columns, weights, columns);
  for (int o = 0; o < head.outputs; o++) {
    Vector total = {};
    for (int s = 0; s < tile; s += lanes) total += load(of_outputs + o * tile + s);
    biases[o] += sum(total);
  }
}

// Of few outputs each row by itself: a block of rows would be stored for longer than it is multiplied.
template <int Vectors>
FUSED_INLINE void few_back(const Head& head, int rows, const float* of_outputs, int column, const float* x,
                           int activation, Output out) {
  const int columns = head.layer.in_columns;
  for (int r = 0; r < rows; r++) {
    const float* weights = head.layer.straight + column;
    Vector sums[1][Vectors] = {};
    for (int o = 0; o < head.outputs; o++, weights += columns) {
      const Vector factor = all(of_outputs[o * tile + r]);
      FUSED_UNROLL for (int v = 0; v < Vectors; v++)
        sums[0][v] = Floats::add(sums[0][v], factor, load(weights + v * lanes));
    }
    put_gradients(r, column, sums, activation, x, out);
  }
}

// The gradient at the top slab: see convolution.hpp.
static void backward(const Head& head, int rows, const float* of_outputs, const float* x, float* to, int activation,
                     bool adds) {
  const int columns = head.layer.in_columns;
  const Output out{to, columns, adds};
  if (head.outputs <= narrow)
    for_columns(columns, [&](auto width, int column) {
      few_back<decltype(width)::value>(head, rows, of_outputs, column, x, activation, out);
    });
  else
    product<Floats>(
        rows, of_outputs, 1, tile, head.outputs, head.layer.straight, columns, columns, [](int) { return (Vector){}; },
        [=](int row, int column, const auto& block) FUSED_WITHIN {
          put_gradients(row, column, block, activation, x, out);
        });
}

static void write_gradients(const Head& head, const float* sums, const LayerParameters& parameters) {
  const LayerShape& shape = head.layer.shape;
  const int columns = head.layer.in_columns;
  const float *weights = sums + head.layer.sums, *biases = weights + (size_t)head.outputs * columns;
  for (int o = 0; o < head.outputs; o++) {
    float* row = parameters.weight_gradient + (size_t)o * shape.weight_columns;
    for (int k = 0; k < shape.inputs; k++)
      if (head.layer.columns[k] >= 0) row[head.layer.columns[k]] = weights[(size_t)o * columns + k];
    parameters.bias_gradient[o] = biases[o];
  }
}

}  // namespace fused
