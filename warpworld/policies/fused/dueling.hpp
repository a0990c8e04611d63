// Outputs of an actor, and of a dueling one (Wang et al. 2016, equation 9): the state's value plus each choice's advantage, less
// the mean advantage of its head.
#pragma once

#include "model.hpp"

namespace fused {

// Takes from each of a head's rows, (choices, tile), their mean.
static void less_mean(int choices, float* x) {
  for (int s = 0; s < tile; s += lanes) {
    Vector total = {};
    for (int a = 0; a < choices; a++) total += load(x + a * tile + s);
    const Vector mean = total / (float)choices;
    for (int a = 0; a < choices; a++) store(x + a * tile + s, load(x + a * tile + s) - mean);
  }
}

// Takes from the choices of each head their mean.
static void less_means(const Model& model, float* x) {
  for (int head = 0; head < model.num_heads; x += model.head_sizes[head++] * tile) less_mean(model.head_sizes[head], x);
}

// From the top slab to logits, means or values of choices, (outputs, tile); `value` has room for a tile's values.
static void forward_actor(const Model& model, int rows, const float* x, float* outputs, float* value) {
  forward(model.actor, rows, x, outputs);
  if (!model.is_dueling) return;
  less_means(model, outputs);
  forward(model.critic, rows, x, value);
  for (int o = 0; o < model.actor.outputs; o++)
    for (int s = 0; s < tile; s += lanes) store(outputs + o * tile + s, load(outputs + o * tile + s) + load(value + s));
}

// From the gradient at a dueling actor's outputs to that at its advantages, in place, and at the state's value.
static void part_gradients(const Model& model, float* of_outputs, float* of_value) {
  for (int s = 0; s < tile; s += lanes) {
    Vector total = {};
    for (int o = 0; o < model.actor.outputs; o++) total += load(of_outputs + o * tile + s);
    store(of_value + s, total);
  }
  less_means(model, of_outputs);
}

}  // namespace fused
