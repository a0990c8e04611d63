// The recurrence of a minimal GRU (policies/layers/gated_mean.py), forward and backward through time: one pass over its
// numbers each, where torch would make a dozen. An agent's steps follow each other; the workers share the agents, so
// that results are the same, bit for bit, on any number of them.

#include "cpu/abi.hpp"
#include "mean.hpp"

namespace fused {

// fused/gated_means.py mirrors it. Rows of steps: row t * agents + s is agent s in step t.
struct MeanCall {
  int64_t steps, agents, size;
  const float* said;     // (steps, agents, 2 * size): gates before the sigmoid, then candidates
  const float* state;    // (agents, size), before the first step
  const uint8_t* starts; // (steps, agents): the state is 0 before the step
  float* means;          // (steps, agents, size)
  const float* given;    // backward: the gradient of the means
  float* of_said;        // backward: (steps, agents, 2 * size)
  float* of_state;       // backward: (agents, size)
};

static void run_means(const ww_launch* launch, unsigned first, unsigned end) {
  const MeanCall& call = *(const MeanCall*)launch->args[0];
  const int size = (int)call.size;
  for (int64_t s = first; s < end; s++) {
    const float* before = call.state + s * size;
    for (int64_t t = 0; t < call.steps; t++) {
      const int64_t row = t * call.agents + s;
      const float *gates = call.said + row * 2 * size, *candidates = gates + size;
      float* mean = call.means + row * size;
      for (int k = 0; k < size; k += lanes) {
        const Vector kept = call.starts[row] ? Vector{} : load_part(before + k, size - k);
        const Vector gate = load_part(gates + k, size - k), candidate = load_part(candidates + k, size - k);
        store_part(mean + k, mean_after(kept, gate, candidate), size - k);
      }
      before = mean;
    }
  }
}

// What later steps say of a mean arrives in `of_state`, and leaves for the step before.
static void run_mean_gradients(const ww_launch* launch, unsigned first, unsigned end) {
  const MeanCall& call = *(const MeanCall*)launch->args[0];
  const int size = (int)call.size;
  for (int64_t s = first; s < end; s++) {
    float* later = call.of_state + s * size;
    memset(later, 0, size * sizeof(float));
    for (int64_t t = call.steps - 1; t >= 0; t--) {
      const int64_t row = t * call.agents + s;
      const bool begins = call.starts[row];
      const float *gates = call.said + row * 2 * size, *candidates = gates + size, *given = call.given + row * size;
      const float* before = t > 0 ? call.means + (row - call.agents) * size : call.state + s * size;
      float *of_gates = call.of_said + row * 2 * size, *of_candidates = of_gates + size;
      for (int k = 0; k < size; k += lanes) {
        const int n = size - k;
        const Vector gradient = load_part(later + k, n) + load_part(given + k, n);
        const Vector kept = begins ? Vector{} : load_part(before + k, n);
        const MeanGradient of = mean_gradient(kept, load_part(gates + k, n), load_part(candidates + k, n), gradient);
        store_part(of_candidates + k, of.candidate, n);
        store_part(of_gates + k, of.gate, n);
        store_part(later + k, begins ? Vector{} : of.kept, n);
      }
    }
  }
}

}  // namespace fused

#pragma GCC visibility push(default)
extern "C" {
extern const ww_kernel ww_kernel_means = {WW_ABI, "means", fused::run_means};
extern const ww_kernel ww_kernel_mean_gradients = {WW_ABI, "mean_gradients", fused::run_mean_gradients};
}
#pragma GCC visibility pop
