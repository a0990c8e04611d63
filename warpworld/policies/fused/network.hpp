// A multi-layer perceptron on one tile of samples: forward, and backward into sums of weight gradients.
//
// Activations are row-major, (samples, columns), padded with columns of zeros to whole vectors. What the last layer
// gives is the other way round, outputs[o * tile + s], since losses work on vectors of samples. Weights are torch's; a
// copy of them lies padded, and transposed for the forward product.
#pragma once

#include "matmul.hpp"

namespace fused {

constexpr int max_layers = 16;
constexpr int narrow = 4;  // up to so many outputs are dot products; more are a matrix product

struct Tanh {
  FUSED_INLINE Vector apply(Vector x) { return tanh(x); }
  FUSED_INLINE Vector backward(Vector result, Vector gradient) { return gradient * (1.0f - result * result); }
};

struct Relu {
  FUSED_INLINE Vector apply(Vector x) { return select(x < 0.0f, (Vector){}, x); }
  FUSED_INLINE Vector backward(Vector result, Vector gradient) { return select(result <= 0.0f, (Vector){}, gradient); }
};

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

// Pointers into torch's memory; fused/networks.py mirrors it.
struct LayerParameters {
  const float *weight, *bias;  // (outputs, inputs), (outputs,)
  float *weight_gradient, *bias_gradient;
};

struct Layer {
  int inputs, outputs, in_columns, out_columns;
  float* rows;        // [outputs][in_columns]
  float* transposed;  // [inputs][out_columns]
  float* bias;        // [out_columns]
  size_t sums;        // where its part of a chunk's gradients begins: hidden [inputs][out_columns] and [out_columns],
                      // last [outputs][in_columns] and [out_columns]
};

struct Network {
  int num_layers;  // hidden ones and the last
  Layer layers[max_layers];
  size_t num_sums;    // floats of one chunk's gradients
  int widest_hidden;  // columns
  size_t hidden_columns;

  const Layer& last() const { return layers[num_layers - 1]; }
  int num_hidden() const { return num_layers - 1; }
};

// What one worker computes in.
struct Scratch {
  float *observations, *hidden, *delta, *other_delta;
};

static void lay_out(Network& network, const int* widths, int num_layers, Arena& arena) {
  network = Network{};
  network.num_layers = num_layers;
  for (int i = 0; i < num_layers; i++) {
    Layer& layer = network.layers[i];
    layer.inputs = widths[i];
    layer.outputs = widths[i + 1];
    // The first layer takes scalars of the observations, unless it is the last, which takes vectors.
    layer.in_columns = i == 0 && num_layers > 1 ? layer.inputs : rounded_up(layer.inputs, lanes);
    layer.out_columns = rounded_up(layer.outputs, lanes);
    layer.rows = arena.take((size_t)layer.outputs * layer.in_columns);
    layer.transposed = arena.take((size_t)layer.inputs * layer.out_columns);
    layer.bias = arena.take(layer.out_columns);
    layer.sums = network.num_sums;
    const bool hidden = i + 1 < num_layers;
    network.num_sums += layer.out_columns + (hidden ? (size_t)layer.inputs * layer.out_columns
                                                    : (size_t)layer.outputs * layer.in_columns);
    network.num_sums = (network.num_sums + lanes - 1) / lanes * lanes;
    if (!hidden) continue;
    network.hidden_columns += layer.out_columns;
    if (layer.out_columns > network.widest_hidden) network.widest_hidden = layer.out_columns;
  }
}

// Copies what has changed since the last call. Comparing is quick, and no caller has to announce changed weights.
static void pack(Network& network, const LayerParameters* parameters) {
  for (int i = 0; i < network.num_layers; i++) {
    Layer& layer = network.layers[i];
    const size_t bytes = layer.inputs * sizeof(float);
    memcpy(layer.bias, parameters[i].bias, layer.outputs * sizeof(float));
    for (int o = 0; o < layer.outputs; o++) {
      const float* row = parameters[i].weight + (size_t)o * layer.inputs;
      if (memcmp(layer.rows + (size_t)o * layer.in_columns, row, bytes) == 0) continue;
      memcpy(layer.rows + (size_t)o * layer.in_columns, row, bytes);
      for (int k = 0; k < layer.inputs; k++) layer.transposed[(size_t)k * layer.out_columns + o] = row[k];
    }
  }
}

static void few_outputs(const Layer& layer, int rows, const float* x, float* outputs) {
  for (int s = 0; s < rows; s++)
    for (int o = 0; o < layer.outputs; o++) {
      Vector products = {};
      for (int c = 0; c < layer.in_columns; c += lanes)
        products += load(x + s * layer.in_columns + c) * load(layer.rows + o * layer.in_columns + c);
      outputs[o * tile + s] = sum(products) + layer.bias[o];
    }
}

static void many_outputs(const Layer& layer, int rows, const float* x, float* outputs) {
  product(
      rows, x, layer.in_columns, 1, layer.inputs, layer.transposed, layer.out_columns, layer.out_columns,
      [&](int c) { return load(layer.bias + c); },
      [&](int r, int c, Vector value) {
        for (int i = 0; i < lanes && c + i < layer.outputs; i++) outputs[(c + i) * tile + r] = value[i];
      });
}

// x: (rows, in_columns of the first layer); rows is a multiple of row_block. Leaves the hidden layers in `hidden`.
template <class Activation>
static void forward(const Network& network, int rows, const float* x, float* hidden, float* outputs) {
  for (int i = 0; i < network.num_hidden(); i++) {
    const Layer& layer = network.layers[i];
    product(
        rows, x, layer.in_columns, 1, layer.inputs, layer.transposed, layer.out_columns, layer.out_columns,
        [&](int c) { return load(layer.bias + c); },
        [&](int r, int c, Vector value) { store(hidden + r * layer.out_columns + c, Activation::apply(value)); });
    x = hidden;
    hidden += tile * layer.out_columns;
  }
  if (network.last().outputs <= narrow)
    few_outputs(network.last(), rows, x, outputs);
  else
    many_outputs(network.last(), rows, x, outputs);
}

static void add_last_layer(const Layer& layer, int samples, const float* x, const float* delta, float* sums) {
  add_transposed_product(samples, delta, 1, tile, layer.outputs, x, layer.in_columns, sums + layer.sums);
  float* bias = sums + layer.sums + (size_t)layer.outputs * layer.in_columns;
  for (int o = 0; o < layer.outputs; o++)
    for (int s = 0; s < samples; s++) bias[o] += delta[o * tile + s];
}

static void add_hidden_layer(const Layer& layer, int samples, const float* x, const float* delta, float* sums) {
  add_transposed_product(samples, x, layer.in_columns, 1, layer.inputs, delta, layer.out_columns, sums + layer.sums);
  float* bias = sums + layer.sums + (size_t)layer.inputs * layer.out_columns;
  for (int c = 0; c < layer.out_columns; c += lanes) {
    Vector total = load(bias + c);
    for (int s = 0; s < samples; s++) total += load(delta + s * layer.out_columns + c);
    store(bias + c, total);
  }
}

// Adds the gradient of the first `samples` rows to `sums`, given what `forward` left behind and the loss's gradient at
// its outputs, (outputs, tile), which is 0 for the other rows.
template <class Activation>
static void backward(const Network& network, int samples, int rows, const float* output_gradient,
                     const Scratch& scratch, float* sums) {
  const int num_hidden = network.num_hidden();
  float* inputs[max_layers];  // of each layer
  inputs[0] = scratch.observations;
  for (int i = 0; i < num_hidden; i++)
    inputs[i + 1] = i == 0 ? scratch.hidden : inputs[i] + tile * network.layers[i - 1].out_columns;

  float *delta = scratch.delta, *next = scratch.other_delta;
  // The gradient at a layer's inputs, through the activation that made them.
  const auto through = [&](const Layer& layer, const float* x, const float* from, int row_stride, int step, float* to) {
    product(
        rows, from, row_stride, step, layer.outputs, layer.rows, layer.in_columns, layer.in_columns,
        [](int) { return (Vector){}; },
        [&](int r, int c, Vector value) {
          const int at = r * layer.in_columns + c;
          store(to + at, Activation::backward(load(x + at), value));
        });
  };
  add_last_layer(network.last(), samples, inputs[num_hidden], output_gradient, sums);
  if (num_hidden) through(network.last(), inputs[num_hidden], output_gradient, 1, tile, delta);
  for (int i = num_hidden - 1; i >= 0; i--) {
    const Layer& layer = network.layers[i];
    add_hidden_layer(layer, samples, inputs[i], delta, sums);
    if (i == 0) break;
    through(layer, inputs[i], delta, layer.out_columns, 1, next);
    float* const used = delta;
    delta = next;
    next = used;
  }
}

// Writes gradients to where torch keeps them.
static void write_gradients(const Network& network, const float* sums, const LayerParameters* parameters) {
  for (int i = 0; i < network.num_layers; i++) {
    const Layer& layer = network.layers[i];
    const float* from = sums + layer.sums;
    float *weight = parameters[i].weight_gradient, *bias = parameters[i].bias_gradient;
    const bool hidden = i < network.num_hidden();
    for (int o = 0; o < layer.outputs; o++)
      for (int k = 0; k < layer.inputs; k++)
        weight[(size_t)o * layer.inputs + k] =
            hidden ? from[(size_t)k * layer.out_columns + o] : from[(size_t)o * layer.in_columns + k];
    from += hidden ? (size_t)layer.inputs * layer.out_columns : (size_t)layer.outputs * layer.in_columns;
    memcpy(bias, from, layer.outputs * sizeof(float));
  }
}

}  // namespace fused
