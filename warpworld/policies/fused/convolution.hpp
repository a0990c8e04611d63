// A convolution's products: a linear layer's at several positions of each sample, and those of linear layers.
//
// A picture lies in a slab line by line, from left to right, the channels of a pixel side by side. The patch that one
// position reads is therefore a few pieces of whole columns, a piece for each line of the kernel; a picture of one line has
// patches of one piece. Patches of many positions are put behind each other, and multiplied as the rows of a matrix are:
// sample by sample, position by position. What a convolution writes is such a matrix, since it fills its slab.
#pragma once

#include "layer.hpp"

namespace fused {

// Calls `use(row, first column)` for `count` patches from number `first` on: `first column` is where they begin, in slabs
// of so many columns.
template <class Use>
FUSED_INLINE void for_patches(const LayerShape& shape, int first, int count, int slab_columns, Use use) {
  const int position = first % shape.positions;
  int across = position % shape.across, left = shape.positions - position;
  size_t sample = (size_t)(first / shape.positions) * slab_columns + shape.in_column;
  size_t line = sample + (size_t)(position / shape.across) * shape.step_down;
  for (int r = 0; r < count; r++) {
    use(r, line + (size_t)across * shape.step_across);
    if (--left == 0) {
      line = sample += slab_columns;
      left = shape.positions, across = 0;
    } else if (++across == shape.across) {
      line += shape.step_down;
      across = 0;
    }
  }
}

// Copies so many columns, and up to a vector behind them.
FUSED_INLINE void copy_columns(const float* from, int columns, float* to) {
  for (int c = 0; c < columns; c += lanes) store(to + c, load(from + c));
}

// Patches that are multiplied along their columns, as along_columns has rows.
template <class Terms>
FUSED_INLINE Factors patches_along_columns(const LayerShape& shape, int first, int count, const float* x, int stride,
                                           float* room) {
  const int piece = Terms::in_pairs ? pairs_of(shape.piece) : shape.piece;
  const int depth = shape.inputs / shape.piece * piece;
  for_patches(shape, first, count, stride, [&](int r, size_t at) {
    const float* from = x + at;
    float *to = room + (size_t)r * depth, *const end = to + depth;
    for (; to < end; to += piece, from += shape.piece_step)
      if constexpr (Terms::in_pairs)
        pair_columns(1, from, 0, shape.piece, to);
      else
        copy_columns(from, shape.piece, to);
  });
  return {room, depth, depth};
}

// Puts each column's numbers of two patches in a pair; the second may be null, for zeros.
FUSED_INLINE void pair_patches(const LayerShape& shape, const float* one, const float* other, float* to) {
  float* const end = to + shape.inputs;
  for (size_t line = 0; to < end; to += shape.piece, line += shape.piece_step)
    for (int c = 0; c < shape.piece; c += lanes)
      store(to + c, pairs_across(load(one + line + c), other ? load(other + line + c) : Vector{}));
}

// Patches that are multiplied along each column, as along_rows has rows.
template <class Terms>
FUSED_INLINE Factors patches_along_rows(const LayerShape& shape, int first, int count, const float* x, int stride,
                                        float* room) {
  if constexpr (!Terms::in_pairs) {
    Factors patches = patches_along_columns<Terms>(shape, first, count, x, stride, room);
    patches.depth = count;
    return patches;
  }
  const int width = rounded_up(shape.inputs, lanes);
  const float* even = nullptr;
  for_patches(shape, first, count, stride, [&](int r, size_t at) {
    float* const to = room + (size_t)(r / 2) * width;
    if (r % 2) pair_patches(shape, even, x + at, to);
    else if (r == count - 1) pair_patches(shape, x + at, nullptr, to);
    even = x + at;
  });
  return {room, width, pairs_of(count)};
}

// Calls `use(first, count)` for all patches of so many samples, a tile's number at a time.
template <class Use>
FUSED_INLINE void for_some_patches(const LayerShape& shape, int samples, Use use) {
  const int all = samples * shape.positions;
  for (int first = 0; first < all; first += tile) use(first, all - first < tile ? all - first : tile);
}

template <class Terms>
FUSED_ALONE void convolve_with(const Layer& layer, int samples, const float* x, int x_stride, float* y,
                               const LayerScratch& scratch) {
  const LayerShape& shape = layer.shape;
  for_some_patches(shape, samples, [&](int first, int count) {
    const Factors read = patches_along_columns<Terms>(shape, first, count, x, x_stride, scratch.factors);
    multiply_rows<Terms>(layer, count, read, {y + (size_t)first * shape.outputs, shape.outputs, false}, scratch);
  });
  if (shape.activation == tanh_of) apply_tanh(samples * shape.positions, shape.outputs, y, shape.outputs);
}

template <class Terms>
FUSED_ALONE void add_convolutions_gradients_with(const Layer& layer, int samples, const float* x, int x_stride,
                                                 const float* d, float* sums, const LayerScratch& scratch) {
  const LayerShape& shape = layer.shape;
  const int outputs = shape.outputs;
  float *weights = sums + layer.sums, *biases = weights + (size_t)shape.inputs * outputs;
  for_some_patches(shape, samples, [&](int first, int count) {
    const float* const of_patches = d + (size_t)first * outputs;
    const Factors read = patches_along_rows<Terms>(shape, first, count, x, x_stride, scratch.factors);
    const Factors of = along_rows<Terms>(count, of_patches, outputs, outputs, behind_pairs(shape, scratch));
    add_multiplied<Terms>(layer, read, of, weights, scratch);
    add_up(count, of_patches, outputs, outputs, biases);
  });
}

// Patches overlap: what a position adds is added where it lies. A piece that is read by a layer behind the first has whole
// vectors.
template <class Terms>
FUSED_ALONE void convolve_back_with(const Layer& layer, int samples, const float* d, float* to, int x_stride,
                                    const LayerScratch& scratch) {
  const LayerShape& shape = layer.shape;
  for_some_patches(shape, samples, [&](int first, int count) {
    float* patches[tile];
    for_patches(shape, first, count, x_stride, [&](int r, size_t at) { patches[r] = to + at; });
    const Factors of = along_columns<Terms>(count, d + (size_t)first * shape.outputs, shape.outputs, shape.outputs,
                                            scratch.factors);
    product<Terms>(
        count, of.numbers, of.stride, 1, of.depth, layer.straight, layer.in_columns, layer.in_columns,
        [](int) { return (Vector){}; },
        [&](int row, int column, const auto& block) FUSED_WITHIN {
          for_block(row, column, block, [&](int r, int c, Vector value) FUSED_WITHIN {
            float* const at = patches[r] + layer.places[c / lanes];
            store(at, load(at) + value);
          });
        },
        [&] { fetch_some(*scratch.ahead); });
  });
}

// ---- of any layer that is no cell -----------------------------------------------------------------------------------
// From x, a slab's rows, to those of another, y; `rows` is a multiple of row_block.
static void forward(const Layer& layer, int rows, const float* x, int x_stride, float* y, int y_stride,
                    const LayerScratch& scratch) {
  with_terms(layer, [&](auto terms) {
    using Terms = decltype(terms);
    if (layer.shape.kind == convolution)
      convolve_with<Terms>(layer, rows, x, x_stride, y, scratch);
    else
      forward_with<Terms>(layer, rows, x, x_stride, y, y_stride, scratch);
  });
}

// Adds the gradients of weights and biases, given those of what the layer gave, d.
static void add_gradients(const Layer& layer, int samples, const float* x, int x_stride, const float* d, int d_stride,
                          float* sums, const LayerScratch& scratch) {
  with_terms(layer, [&](auto terms) {
    using Terms = decltype(terms);
    if (layer.shape.kind == convolution)
      add_convolutions_gradients_with<Terms>(layer, samples, x, x_stride, d, sums, scratch);
    else
      add_gradients_with<Terms>(layer, samples, x, x_stride, d, d_stride, sums, scratch);
  });
}

// The gradient at what a layer read: written to `to`, through the activation that made it, where nothing else reads that;
// or else added there, as a convolution's always is.
static void backward(const Layer& layer, int rows, const float* d, int d_stride, const float* x, float* to, int x_stride,
                     int activation, bool adds, const LayerScratch& scratch) {
  with_terms(layer, [&](auto terms) {
    using Terms = decltype(terms);
    if (layer.shape.kind == convolution)
      convolve_back_with<Terms>(layer, rows, d, to, x_stride, scratch);
    else
      backward_with<Terms>(layer, rows, d, d_stride, x, to, x_stride, activation, adds, scratch);
  });
}

}  // namespace fused
