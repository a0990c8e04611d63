// Draws the level of the episode that begins in an env, sets the parameters that belong to it, and notes which episodes
// succeeded. LEVELS is the number of levels, from 0, the easiest. Agent 0 writes what is per env.
//
// Arrays: teacher_chances (LEVELS,): the sums of the probabilities of the levels up to each. teacher_level (envs,): of the
// running episode. teacher_return (envs,): its sum of rewards of a group so far, kept from rollout to rollout.
// teacher_episodes, teacher_successes (envs, LEVELS): counts of the episodes that ended.
#include <warpworld.cuh>

// ---- before an env's own resets --------------------------------------------------------------------------------------
extern "C" __global__ void draw_level(const float* teacher_chances, int* teacher_level) {
  if (!is_active() || agent_id() != 0) return;
  const float number = Random::env().uniform();
  int level = 0;
  while (level < LEVELS - 1 && number >= teacher_chances[level]) ++level;
  teacher_level[env_id()] = level;
}

// Value of a level's parameter: the ends themselves in the first and the last level.
__device__ double value_of(int level, double easiest, double hardest) {
  const double part = (double)level / (double)(LEVELS - 1);
  return easiest * (1.0 - part) + hardest * part;
}

extern "C" __global__ void set_floats(float* values, const int* levels, double easiest, double hardest) {
  if (!is_active() || agent_id() != 0) return;
  values[env_id()] = (float)value_of(levels[env_id()], easiest, hardest);
}

extern "C" __global__ void set_ints(int* values, const int* levels, double easiest, double hardest) {
  if (!is_active() || agent_id() != 0) return;
  values[env_id()] = (int)floor(value_of(levels[env_id()], easiest, hardest) + 0.5);
}

extern "C" __global__ void set_bools(bool* values, const int* levels, double easiest, double hardest) {
  if (!is_active() || agent_id() != 0) return;
  values[env_id()] = value_of(levels[env_id()], easiest, hardest) >= 0.5;
}

// ---- behind a rollout ------------------------------------------------------------------------------------------------
// Read: rewards and, with `masked`, which agents take part (num_steps, envs, NUM_AGENTS); ends and levels (num_steps,
// envs). An episode succeeds if the mean return of the `agents` from `first` on is at least `least`.
extern "C" __global__ void note_episodes(const float* rewards, const bool* agent_mask, bool masked,
                                         const bool* terminated, const bool* truncated, const int* levels,
                                         float* teacher_return, int* teacher_episodes, int* teacher_successes,
                                         int num_steps, int num_envs, int first, int agents, float least) {
  if (!is_active() || agent_id() != 0) return;
  const int env = env_id();
  float running = teacher_return[env];
  for (int t = 0; t < num_steps; ++t) {
    const size_t row = (size_t)t * num_envs + env;
    for (int i = 0; i < agents; ++i) {
      const size_t agent = row * NUM_AGENTS + first + i;
      if (!masked || agent_mask[agent]) running += rewards[agent];
    }
    if (!terminated[row] && !truncated[row]) continue;
    const int place = env * LEVELS + levels[row];
    teacher_episodes[place]++;
    if (running >= least * (float)agents) teacher_successes[place]++;
    running = 0.0f;
  }
  teacher_return[env] = running;
}
