// The losses of PPO and A2C for rows of choices, and their gradients at logits and values, in three launches: moments of
// the advantages, a sum for each env; losses and gradients; diagnostics. Formulas: ppo.py, a2c.py.
//
// Tensors are torch's own and contiguous, so that parameters are their addresses; 0 stands for weights or a mask that there are not.
// The first `num_envs` envs work, and the lanes of all of them share the rows. LOGITS is the number of choices of all
// NUM_HEADS heads, HEAD_SIZE that of each head, or 0 where they differ; a head's size is then read from `head_sizes`.
#include "drawing.cuh"

constexpr int PITCH = LOGITS | 1;  // odd, so that lanes that read their own rows meet different banks
constexpr int MOMENTS = 3, FIGURES = 8;  // doubles of an env
enum { POLICY_LOSS, VALUE_LOSS, ENTROPY, APPROX_KL, OLD_APPROX_KL, CLIPFRAC, NUM_FIGURES };

// A setting: a number, or where it changes from one update to the next, the address of one.
struct Setting {
  int64_t address;
  float number;

  __device__ float now() const { return address ? *(const float*)address : number; }
};

// The coefficients of a loss.
struct Coefficients {
  Setting clip, entropy, value, kl;
};

// What is learnt from, (rows, ...) each.
struct Rows {
  int64_t actions, log_probs, advantages, returns, values, importance, mask, action_masks;

  __device__ bool counts(int row) const { return !mask || ((const bool*)mask)[row]; }
  __device__ float at(int64_t column, int row) const { return ((const float*)column)[row]; }
};

struct Loss {
  bool surrogate, clip_value_loss, normalise_advantages;
  float epsilon;  // of a deviation
};

// What an env's lanes share, besides the rows of a tile.
struct Sums {
  double of_lanes[LANES];
};

// The sum of a number of all lanes of the env, in the order of lanes, for each lane.
__device__ double sum_of_lanes(Sums& sums, double number) {
  sync_env();  // orders the reading of the sum before
  sums.of_lanes[lane()] = number;
  for (int stride = LANES / 2; stride > 0; stride /= 2) {
    sync_env();  // orders the halves before they are added
    if (lane() < stride && lane() + stride < num_lanes()) sums.of_lanes[lane()] += sums.of_lanes[lane() + stride];
  }
  sync_env();  // orders the sum before it is read
  return sums.of_lanes[0];
}

// ---- moments of the advantages ---------------------------------------------------------------------------------------
extern "C" __global__ void moments(Rows data, int64_t found, int rows, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  double count = 0.0, total = 0.0, squares = 0.0;
  for (int row = env_id() * num_lanes() + lane(); row < rows; row += num_envs * num_lanes()) {
    if (!data.counts(row)) continue;
    const double advantage = (double)data.at(data.advantages, row);
    count += 1.0;
    total += advantage;
    squares += advantage * advantage;
  }
  double* own = (double*)found + env_id() * MOMENTS;
  const double of_env[MOMENTS] = {count, total, squares};
  for (int i = 0; i < MOMENTS; ++i) {
    const double sum = sum_of_lanes(sums[0], of_env[i]);
    if (lane() == 0) own[i] = sum;
  }
}

// What all rows of a minibatch share: the weight of each that counts, and mean and inverse deviation of the advantages.
struct Common {
  float weight, mean, scale;
};

__device__ Common common_of(Sums& sums, int64_t found, const Loss& loss, int rows, int num_envs) {
  if (!found) return Common{1.0f / (float)rows, 0.0f, 1.0f};
  double all[MOMENTS];
  for (int i = 0; i < MOMENTS; ++i) {
    double some = 0.0;
    for (int env = lane(); env < num_envs; env += num_lanes()) some += ((const double*)found)[env * MOMENTS + i];
    all[i] = sum_of_lanes(sums, some);
  }
  const double count = all[0] > 1.0 ? all[0] : 1.0, mean = all[1] / count;
  const double squares = all[2] - all[1] * mean, spare = all[0] > 2.0 ? all[0] - 1.0 : 1.0;
  const float deviation = sqrtf((float)((squares > 0.0 ? squares : 0.0) / spare)) + loss.epsilon;
  const bool normalises = loss.normalise_advantages;
  return Common{(float)(1.0 / count), normalises ? (float)mean : 0.0f, normalises ? 1.0f / deviation : 1.0f};
}

// ---- the loss of a row -----------------------------------------------------------------------------------------------
// The loss's derivative by the log-probability of the action.
__device__ float pull_of(const Loss& loss, const Common& common, float clip, float kl_coef, float log_prob, float old,
                         float advantage, double* figures) {
  if (!loss.surrogate) {
    figures[POLICY_LOSS] -= (double)(advantage * log_prob);
    return -advantage * common.weight;
  }
  const float log_ratio = log_prob - old, ratio = expf(log_ratio), low = 1.0f - clip, high = 1.0f + clip;
  const float plain = -advantage * ratio, clipped = -advantage * fminf(fmaxf(ratio, low), high);
  const bool is_clipped = plain < clipped, outside = ratio < low || ratio > high;
  figures[POLICY_LOSS] += (double)(is_clipped ? clipped : plain);
  figures[APPROX_KL] += (double)((ratio - 1.0f) - log_ratio);
  figures[OLD_APPROX_KL] -= (double)log_ratio;
  figures[CLIPFRAC] += fabsf(ratio - 1.0f) > clip ? 1.0 : 0.0;
  const float penalty = kl_coef > 0.0f ? kl_coef * (ratio - 1.0f) : 0.0f;  // of approx_kl
  return ((is_clipped && outside ? 0.0f : -advantage) * ratio + penalty) * common.weight;
}

// Half the squared error, or the larger one of it and that of a value near the old one; its derivative by the value.
__device__ float slope_of(const Loss& loss, float clip, float value, float old, float wanted, double* figures) {
  const float error = value - wanted;
  float squared = error * error, slope = error;
  if (loss.clip_value_loss) {
    const float moved = value - old, near = old + fminf(fmaxf(moved, -clip), clip) - wanted;
    const float near_slope = moved < -clip || moved > clip ? 0.0f : near;
    slope = squared > near * near ? error : squared < near * near ? near_slope : 0.5f * (error + near_slope);
    squared = near * near <= squared ? squared : near * near;
  }
  figures[VALUE_LOSS] += 0.5 * (double)squared;
  return slope;
}

__device__ int size_of(const int* head_sizes, int head) { return HEAD_SIZE ? HEAD_SIZE : head_sizes[head]; }

// Turns a head's logits into log-probabilities; returns their entropy.
__device__ float normalise(float* logits, int size) {
  float highest = logits[0];
  for (int i = 1; i < size; ++i) highest = logits[i] > highest ? logits[i] : highest;
  float total = 0.0f, entropy = 0.0f;
  for (int i = 0; i < size; ++i) total += expf(logits[i] - highest);
  const float log_total = logf(total);
  for (int i = 0; i < size; ++i) {
    logits[i] = (logits[i] - highest) - log_total;
    entropy -= expf(logits[i]) * logits[i];
  }
  return entropy;
}

// Turns a head's log-probabilities into the gradient at its logits: that of -ent_coef * entropy is
// ent_coef * p (log p + entropy), that of the action's log-probability 1 - p at its own logit and -p at the others.
__device__ void differentiate(float* logits, int size, int action, float pull, float bonus, float entropy) {
  for (int i = 0; i < size; ++i) {
    const float probability = expf(logits[i]);
    logits[i] = probability * (bonus * (logits[i] + entropy) - pull) + (i == action ? pull : 0.0f);
  }
}

// From a row's logits to their gradient; returns the value's.
__device__ float differentiate_row(const Rows& data, const Loss& loss, const Common& common, const int* head_sizes,
                                   float clip, float ent_coef, float kl_coef, float* logits, float value, int row,
                                   double* figures) {
  const bool* allowed = data.action_masks ? (const bool*)data.action_masks + (size_t)row * LOGITS : nullptr;
  const int* actions = (const int*)data.actions + (size_t)row * NUM_HEADS;
  for (int i = 0; allowed && i < LOGITS; ++i) logits[i] = allowed[i] ? logits[i] : FORBIDDEN;
  float entropies[NUM_HEADS], log_prob = 0.0f, entropy = 0.0f;
  float* own = logits;
  for (int head = 0; head < NUM_HEADS; own += size_of(head_sizes, head++)) {
    entropies[head] = normalise(own, size_of(head_sizes, head));
    entropy += entropies[head];
    log_prob += own[actions[head]];
  }
  figures[ENTROPY] += (double)entropy;
  const float weight = data.importance ? data.at(data.importance, row) : 1.0f;
  const float advantage = (data.at(data.advantages, row) - common.mean) * common.scale * weight;
  const float pull = pull_of(loss, common, clip, kl_coef, log_prob, data.at(data.log_probs, row), advantage, figures);
  own = logits;
  for (int head = 0; head < NUM_HEADS; own += size_of(head_sizes, head++))
    differentiate(own, size_of(head_sizes, head), actions[head], pull, ent_coef * common.weight, entropies[head]);
  for (int i = 0; allowed && i < LOGITS; ++i) logits[i] = allowed[i] ? logits[i] : 0.0f;
  return slope_of(loss, clip, value, data.at(data.values, row), data.at(data.returns, row), figures);
}

extern "C" __global__ void losses(Rows data, int64_t outputs, int64_t said, int64_t of_outputs, int64_t of_said,
                                  int64_t moments_found, int64_t head_sizes, int64_t figures_found,
                                  Coefficients coefficients, Loss loss, int rows, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Sums, sums, 1);
  ENV_SHARED(float, tile, LANES * PITCH);
  const Common common = common_of(sums[0], moments_found, loss, rows, num_envs);
  const float clip = coefficients.clip.now(), entropy_coef = coefficients.entropy.now();
  const float penalty_coef = coefficients.kl.now(), of_value = coefficients.value.now() * common.weight;
  double figures[NUM_FIGURES] = {};
  for (int first = env_id() * LANES; first < rows; first += num_envs * LANES) {
    const int count = min(LANES, rows - first);
    const float* in = (const float*)outputs + (size_t)first * LOGITS;
    float* out = (float*)of_outputs + (size_t)first * LOGITS;
    for (int i = lane(); i < count * LOGITS; i += num_lanes()) tile[i / LOGITS * PITCH + i % LOGITS] = in[i];
    sync_env();  // orders the rows before their lanes read them
    for (int i = lane(); i < count; i += num_lanes()) {
      const int row = first + i;
      float *logits = tile + i * PITCH, slope = 0.0f;
      if (data.counts(row))
        slope = differentiate_row(data, loss, common, (const int*)head_sizes, clip, entropy_coef, penalty_coef, logits,
                                  ((const float*)said)[row], row, figures);
      else
        for (int k = 0; k < LOGITS; ++k) logits[k] = 0.0f;
      ((float*)of_said)[row] = of_value * slope;
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
  for (int i = 0; i < NUM_FIGURES; ++i) {
    double some = 0.0;
    for (int part = lane(); part < parts; part += num_lanes()) some += ((const double*)figures_found)[part * FIGURES + i];
    const double sum = sum_of_lanes(sums[0], some);
    if (lane() == 0) ((float*)diagnostics)[i] = (float)sum;
  }
}
