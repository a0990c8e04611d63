// Recurrent cells on a strip: what goes from step to step, forward and backward through time. The product with the input
// is a linear layer before them, whose slab they find it in; its gradient is left in the same place.
//
// Formulas: an LSTM's and a GRU's are those of torch.nn.LSTMCell and GRUCell, a minimal GRU's those of
// policies/layers/gated_mean.py.
#pragma once

#include "mean.hpp"
#include "strip.hpp"

namespace fused {

// A cell's slabs, each a number of columns wide; `size` is the cell's in whole vectors.
struct CellSlabs {
  float* gates;   // before their activation, from the input; then after it; then their gradients
  float* hidden;  // what the cell gives
  float* before;  // of cells that multiply it: the hidden state before the step
  float* extra;   // an LSTM's memory; what a GRU's reset gate is multiplied with
  float* of_hidden;  // the gradient of `hidden`
  int size;
};

FUSED_INLINE Vector load_unless(bool zero, const float* from) { return zero ? Vector{} : load(from); }

// The numbers of a part of the state before a row's step, not yet zeroed.
FUSED_INLINE const float* earlier(const Strip& strip, const float* slab, int size, int part, int t, int a) {
  return t ? slab + ((size_t)(t - 1) * strip.spread + a) * size : strip.first(part, size, a);
}

// ---- a minimal GRU --------------------------------------------------------------------------------------------------
static void forward_mean(const Strip& strip, int part, const CellSlabs& slabs) {
  const int size = slabs.size;
  for (int t = 0; t < strip.steps; t++)
    for (int a = 0; a < strip.spread; a++) {
      const int row = t * strip.spread + a;
      const bool begins = strip.begins_at(row);
      const float *gates = slabs.gates + (size_t)row * 2 * size, *before = earlier(strip, slabs.hidden, size, part, t, a);
      float* hidden = slabs.hidden + (size_t)row * size;
      for (int k = 0; k < size; k += lanes) {
        const Vector kept = load_unless(begins, before + k);
        store(hidden + k, mean_after(kept, load(gates + k), load(gates + size + k)));
      }
    }
}

static void backward_mean(const Strip& strip, int part, const CellSlabs& slabs, float* carry) {
  const int size = slabs.size;
  memset(carry, 0, (size_t)strip.spread * size * sizeof(float));
  for (int t = strip.steps - 1; t >= 0; t--)
    for (int a = 0; a < strip.spread; a++) {
      const int row = t * strip.spread + a;
      const bool begins = strip.begins_at(row);
      const float *before = earlier(strip, slabs.hidden, size, part, t, a), *given = slabs.of_hidden + (size_t)row * size;
      float *gates = slabs.gates + (size_t)row * 2 * size, *later = carry + a * size;
      for (int k = 0; k < size; k += lanes) {
        const MeanGradient of = mean_gradient(load_unless(begins, before + k), load(gates + k), load(gates + size + k),
                                              load(later + k) + load(given + k));
        store(gates + k, of.gate);
        store(gates + size + k, of.candidate);
        store(later + k, begins ? Vector{} : of.kept);
      }
    }
}

// ---- cells that multiply their state --------------------------------------------------------------------------------
// Puts the hidden state before step t, zeroed where an episode begins, in its place.
static void put_before(const Strip& strip, int part, const CellSlabs& slabs, int t) {
  for (int a = 0; a < strip.spread; a++) {
    const int row = t * strip.spread + a;
    const bool begins = strip.begins_at(row);
    const float* before = earlier(strip, slabs.hidden, slabs.size, part, t, a);
    float* to = slabs.before + (size_t)row * slabs.size;
    for (int k = 0; k < slabs.size; k += lanes) store(to + k, load_unless(begins, before + k));
  }
}

// Its product with the weights, and their bias.
static void multiply_before(const Strip& strip, const Layer& layer, const CellSlabs& slabs, int t, const Output& out,
                            const LayerScratch& scratch) {
  const float* before = slabs.before + (size_t)t * strip.spread * slabs.size;
  with_terms(layer, [&](auto terms) {
    using Terms = decltype(terms);
    const Factors read = along_columns<Terms>(strip.spread, before, slabs.size, layer.shape.inputs, scratch.factors);
    multiply_rows<Terms>(layer, strip.spread, read, out, scratch);
  });
}

// Leaves for the step before what `columns` of the gates' gradients, from `column` on, say of its hidden state.
static void carry_back(const Strip& strip, const Layer& layer, const float* gradients, int stride, int column,
                       int columns, int t, const LayerScratch& scratch) {
  const float* of_step = gradients + (size_t)t * strip.spread * stride;
  float* const carry = scratch.carry;
  const int size = layer.in_columns;
  with_terms(layer, [&](auto terms) {
    using Terms = decltype(terms);
    const Factors of = along_columns<Terms>(strip.spread, of_step, stride, columns, scratch.factors);
    const float* const weights = layer.straight + (size_t)(Terms::in_pairs ? column / 2 : column) * size;
    multiply_back<Terms>(strip.spread, of, weights, size, plain, carry, {carry, size, true}, scratch);
  });
}

// Adds what `columns` columns of the gates' gradients say of the weights, from `column` of theirs on.
static void add_cells_gradients(const Strip& strip, const Layer& layer, const CellSlabs& slabs, const float* gradients,
                                int stride, int column, int columns, float* sums, const LayerScratch& scratch) {
  const int samples = strip.live_rows(), inputs = layer.shape.inputs, all_gates = layer.shape.outputs;
  float *weights = sums + layer.sums, *biases = weights + (size_t)inputs * all_gates;
  with_terms(layer, [&](auto terms) {
    add_weights_gradient<decltype(terms)>(samples, slabs.before, slabs.size, inputs, gradients, stride, columns,
                                          weights + column, all_gates, scratch.factors);
  });
  add_up(samples, gradients, stride, columns, biases + column);
}

static void stop_at_beginnings(const Strip& strip, int size, int t, float* carry) {
  for (int a = 0; a < strip.spread; a++)
    if (strip.begins_at(t * strip.spread + a)) memset(carry + a * size, 0, size * sizeof(float));
}

static void forward_lstm(const Strip& strip, int part, const Layer& layer, const CellSlabs& slabs,
                         const LayerScratch& scratch) {
  const int size = slabs.size, all_gates = 4 * size;
  for (int t = 0; t < strip.steps; t++) {
    float* of_step = slabs.gates + (size_t)t * strip.spread * all_gates;
    put_before(strip, part, slabs, t);
    multiply_before(strip, layer, slabs, t, {of_step, all_gates, true}, scratch);
    for (int a = 0; a < strip.spread; a++) {
      const int row = t * strip.spread + a;
      const bool begins = strip.begins_at(row);
      const float* memory_before = earlier(strip, slabs.extra, size, part + 1, t, a);
      float *gates = of_step + (size_t)a * all_gates, *memory = slabs.extra + (size_t)row * size,
            *hidden = slabs.hidden + (size_t)row * size;
      for (int k = 0; k < size; k += lanes) {
        const Vector in = sigmoid(load(gates + k)), forget = sigmoid(load(gates + size + k)),
                     candidate = tanh(load(gates + 2 * size + k)), out = sigmoid(load(gates + 3 * size + k));
        const Vector now = forget * load_unless(begins, memory_before + k) + in * candidate;
        store(gates + k, in);
        store(gates + size + k, forget);
        store(gates + 2 * size + k, candidate);
        store(gates + 3 * size + k, out);
        store(memory + k, now);
        store(hidden + k, out * tanh(now));
      }
    }
  }
}

static void backward_lstm(const Strip& strip, int part, const Layer& layer, const CellSlabs& slabs,
                          const LayerScratch& scratch, float* sums) {
  const int size = slabs.size, all_gates = 4 * size;
  float *const carry = scratch.carry, *const of_memory = carry + (size_t)strip.spread * size;
  memset(carry, 0, 2 * (size_t)strip.spread * size * sizeof(float));
  for (int t = strip.steps - 1; t >= 0; t--) {
    for (int a = 0; a < strip.spread; a++) {
      const int row = t * strip.spread + a;
      const bool begins = strip.begins_at(row);
      const float *memory_before = earlier(strip, slabs.extra, size, part + 1, t, a),
                  *memory = slabs.extra + (size_t)row * size, *given = slabs.of_hidden + (size_t)row * size;
      float *gates = slabs.gates + (size_t)row * all_gates, *later = of_memory + a * size;
      const float* of_hidden = carry + a * size;
      for (int k = 0; k < size; k += lanes) {
        const Vector in = load(gates + k), forget = load(gates + size + k), candidate = load(gates + 2 * size + k),
                     out = load(gates + 3 * size + k), now = tanh(load(memory + k));
        const Vector gradient = load(of_hidden + k) + load(given + k);
        const Vector inner = load(later + k) + gradient * out * (1.0f - now * now);
        store(gates + k, inner * candidate * in * (1.0f - in));
        store(gates + size + k, inner * load_unless(begins, memory_before + k) * forget * (1.0f - forget));
        store(gates + 2 * size + k, inner * in * (1.0f - candidate * candidate));
        store(gates + 3 * size + k, gradient * now * out * (1.0f - out));
        store(later + k, begins ? Vector{} : inner * forget);
      }
    }
    if (t == 0) break;
    memset(carry, 0, (size_t)strip.spread * size * sizeof(float));
    carry_back(strip, layer, slabs.gates, all_gates, 0, all_gates, t, scratch);
    stop_at_beginnings(strip, size, t, carry);
  }
  add_cells_gradients(strip, layer, slabs, slabs.gates, all_gates, 0, all_gates, sums, scratch);
}

static void forward_gru(const Strip& strip, int part, const Layer& layer, const CellSlabs& slabs,
                        const LayerScratch& scratch) {
  const int size = slabs.size, all_gates = 3 * size;
  float* const products = scratch.product;
  for (int t = 0; t < strip.steps; t++) {
    put_before(strip, part, slabs, t);
    multiply_before(strip, layer, slabs, t, {products, all_gates, false}, scratch);
    for (int a = 0; a < strip.spread; a++) {
      const size_t row = (size_t)t * strip.spread + a;
      const float *before = slabs.before + row * size, *said = products + (size_t)a * all_gates;
      float *gates = slabs.gates + row * all_gates, *inner = slabs.extra + row * size, *hidden = slabs.hidden + row * size;
      for (int k = 0; k < size; k += lanes) {
        const Vector reset = sigmoid(load(gates + k) + load(said + k)),
                     update = sigmoid(load(gates + size + k) + load(said + size + k)), state = load(said + 2 * size + k);
        const Vector candidate = tanh(load(gates + 2 * size + k) + reset * state);
        store(gates + k, reset);
        store(gates + size + k, update);
        store(gates + 2 * size + k, candidate);
        store(inner + k, state);
        store(hidden + k, candidate + update * (load(before + k) - candidate));
      }
    }
  }
}

static void backward_gru(const Strip& strip, const Layer& layer, const CellSlabs& slabs, const LayerScratch& scratch,
                         float* sums) {
  const int size = slabs.size, all_gates = 3 * size;
  float* const carry = scratch.carry;
  memset(carry, 0, (size_t)strip.spread * size * sizeof(float));
  for (int t = strip.steps - 1; t >= 0; t--) {
    for (int a = 0; a < strip.spread; a++) {
      const size_t row = (size_t)t * strip.spread + a;
      const float *before = slabs.before + row * size, *given = slabs.of_hidden + row * size;
      float *gates = slabs.gates + row * all_gates, *inner = slabs.extra + row * size, *later = carry + a * size;
      for (int k = 0; k < size; k += lanes) {
        const Vector reset = load(gates + k), update = load(gates + size + k), candidate = load(gates + 2 * size + k);
        const Vector gradient = load(later + k) + load(given + k);
        const Vector of_candidate = gradient * (1.0f - update) * (1.0f - candidate * candidate);
        store(gates + k, of_candidate * load(inner + k) * reset * (1.0f - reset));
        store(gates + size + k, gradient * (load(before + k) - candidate) * update * (1.0f - update));
        store(gates + 2 * size + k, of_candidate);
        store(inner + k, of_candidate * reset);
        store(later + k, gradient * update);
      }
    }
    if (t == 0) break;
    carry_back(strip, layer, slabs.gates, all_gates, 0, 2 * size, t, scratch);
    carry_back(strip, layer, slabs.extra, size, 2 * size, size, t, scratch);
    stop_at_beginnings(strip, size, t, carry);
  }
  add_cells_gradients(strip, layer, slabs, slabs.gates, all_gates, 0, 2 * size, sums, scratch);
  add_cells_gradients(strip, layer, slabs, slabs.extra, size, 2 * size, size, sums, scratch);
}

}  // namespace fused
