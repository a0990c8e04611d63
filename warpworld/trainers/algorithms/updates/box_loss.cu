// The losses of PPO and A2C for rows of actions in a Box, drawn from normal distributions, and their gradients at means, at
// the logarithms of deviations and at values, in three launches, as choice_loss.cu has them. Formulas: ppo.py, a2c.py, Gaussian.
//
// Tensors are torch's own and contiguous, so that parameters are their addresses; 0 stands for weights or a mask that there are
// not. The first `num_envs` envs work, and the lanes of all of them share the rows. An action has SIZE numbers, as drawn; `log_stds`
// are (SIZE,).
#include "row_loss.cuh"

constexpr int PITCH = FIGURES + SIZE, NUM_FOUND = NUM_FIGURES + SIZE;  // doubles of an env; behind figures the gradient at log_stds
constexpr float HALF_LOG_2_PI = 0.918938533f;

// ---- moments of the advantages ---------------------------------------------------------------------------------------
extern "C" __global__ void moments(Rows data, int64_t found, int rows, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  find_moments(sums[0], data, found, rows, num_envs);
}

// ---- losses and gradients --------------------------------------------------------------------------------------------
// Writes a row's gradient at its means, and adds to the figures and to the gradient at log_stds, which lies behind them.
__device__ void differentiate_means(const Rows& data, const Loss& loss, const Common& common, const Factors& now,
                                    const float* means, const float* log_stds, int row, float* slopes, double* found) {
  const float* actions = (const float*)data.actions + (size_t)row * SIZE;
  float log_prob = 0.0f, entropy = 0.0f;
  for (int i = 0; i < SIZE; ++i) {
    const float deviation = (actions[i] - means[i]) * expf(-log_stds[i]);
    log_prob += -0.5f * deviation * deviation - HALF_LOG_2_PI - log_stds[i];
    entropy += 0.5f + HALF_LOG_2_PI + log_stds[i];
  }
  found[ENTROPY] += (double)entropy;
  const float pull = pull_of_row(data, loss, common, now, log_prob, row, found);
  for (int i = 0; i < SIZE; ++i) {
    const float narrowness = expf(-log_stds[i]), deviation = (actions[i] - means[i]) * narrowness;
    slopes[i] = pull * deviation * narrowness;
    found[NUM_FIGURES + i] += (double)(pull * (deviation * deviation - 1.0f) - now.entropy * common.weight);
  }
}

extern "C" __global__ void losses(Rows data, int64_t outputs, int64_t said, int64_t of_outputs, int64_t of_said,
                                  int64_t moments_found, int64_t log_stds, int64_t figures_found,
                                  Coefficients coefficients, Loss loss, int rows, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  const Common common = common_of(sums[0], moments_found, loss, rows, num_envs);
  const Factors now = coefficients.now();
  double found[NUM_FOUND] = {};
  for (int row = env_id() * num_lanes() + lane(); row < rows; row += num_envs * num_lanes()) {
    const float* means = (const float*)outputs + (size_t)row * SIZE;
    float *slopes = (float*)of_outputs + (size_t)row * SIZE, slope = 0.0f;
    if (data.counts(row)) {
      differentiate_means(data, loss, common, now, means, (const float*)log_stds, row, slopes, found);
      slope = differentiate_value(data, loss, common, now, ((const float*)said)[row], row, found);
    } else {
      for (int i = 0; i < SIZE; ++i) slopes[i] = 0.0f;
    }
    ((float*)of_said)[row] = slope;
  }
  double* own = (double*)figures_found + env_id() * PITCH;
  for (int i = 0; i < NUM_FOUND; ++i) {
    const double sum = sum_of_lanes(sums[0], found[i]);
    if (lane() == 0) own[i] = i < NUM_FIGURES ? sum * (double)common.weight : sum;
  }
}

// ---- diagnostics -----------------------------------------------------------------------------------------------------
// Adds up what `parts` envs found, in the first env; diagnostics (NUM_FOUND,) float.
extern "C" __global__ void diagnose(int64_t figures_found, int64_t diagnostics, int parts, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  add_up(sums[0], figures_found, diagnostics, NUM_FOUND, PITCH, parts);
}
