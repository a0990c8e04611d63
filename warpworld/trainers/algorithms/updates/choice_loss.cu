// The losses of PPO and A2C for rows of choices, and their gradients at logits and values, in three launches: moments of
// the advantages, a sum for each env; losses and gradients; diagnostics. Formulas: ppo.py, a2c.py.
//
// Tensors are torch's own and contiguous, so that parameters are their addresses; 0 stands for weights or a mask that there are not.
// The first `num_envs` envs work, and the lanes of all of them share the rows. LOGITS is the number of choices of all
// NUM_HEADS heads, HEAD_SIZE that of each head, or 0 where they differ; a head's size is then read from `head_sizes`.
#include "choice_loss.cuh"

using OwnHeads = Heads<NUM_HEADS, LOGITS, HEAD_SIZE>;

constexpr int PITCH = LOGITS | 1;  // odd, so that lanes that read their own rows meet different banks

// ---- moments of the advantages ---------------------------------------------------------------------------------------
extern "C" __global__ void moments(Rows data, int64_t found, int rows, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  find_moments(sums[0], data, found, rows, num_envs);
}

// ---- losses and gradients --------------------------------------------------------------------------------------------
extern "C" __global__ void losses(Rows data, int64_t outputs, int64_t said, int64_t of_outputs, int64_t of_said,
                                  int64_t moments_found, int64_t head_sizes, int64_t figures_found,
                                  Coefficients coefficients, Loss loss, int rows, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  ENV_SHARED(float, tile, LANES * PITCH);
  const Common common = common_of(sums[0], moments_found, loss, rows, num_envs);
  const Factors now = coefficients.now();
  double figures[NUM_FIGURES] = {};
  for (int first = env_id() * LANES; first < rows; first += num_envs * LANES) {
    const int count = min(LANES, rows - first);
    const float* in = (const float*)outputs + (size_t)first * LOGITS;
    float* out = (float*)of_outputs + (size_t)first * LOGITS;
    for (int i = lane(); i < count * LOGITS; i += num_lanes()) tile[i / LOGITS * PITCH + i % LOGITS] = in[i];
    sync_env();  // orders the rows before their lanes read them
    for (int i = lane(); i < count; i += num_lanes()) {
      const int row = first + i;
      const Spaced<1> logits{tile + i * PITCH};
      float slope = 0.0f;
      if (data.counts(row)) {
        differentiate_choices<OwnHeads>(data, loss, common, (const int*)head_sizes, now, logits, row, figures);
        slope = differentiate_value(data, loss, common, now, ((const float*)said)[row], row, figures);
      } else {
        for (int k = 0; k < LOGITS; ++k) logits[k] = 0.0f;
      }
      ((float*)of_said)[row] = slope;
    }
    sync_env();  // orders the gradients before they are copied
    for (int i = lane(); i < count * LOGITS; i += num_lanes()) out[i] = tile[i / LOGITS * PITCH + i % LOGITS];
    sync_env();  // orders the copy before the next rows
  }
  double* own = (double*)figures_found + env_id() * FIGURES;
  for (int i = 0; i < NUM_FIGURES; ++i) {
    const double sum = sum_of_lanes(sums[0], figures[i]);
    if (lane() == 0) own[i] = sum * (double)common.weight;
  }
}

// ---- diagnostics -----------------------------------------------------------------------------------------------------
// Adds up what `parts` envs found, in the first env; diagnostics (NUM_FIGURES,) float.
extern "C" __global__ void diagnose(int64_t figures_found, int64_t diagnostics, int parts, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  add_up(sums[0], figures_found, diagnostics, NUM_FIGURES, FIGURES, parts);
}
