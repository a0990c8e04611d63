// Recall: a cue is shown once, and named `delay` blank steps later.
//
// Arrays: cue (envs,) which of the cues is to be named; observations (envs, 1, cues + 1): a one at the cue, in an
// episode's first step alone; in its last step a one behind them, which asks for the cue. The agent writes everything.
// Read: actions (envs, 1, 1) the cue that is named, which counts in the last step alone.
#include <warpworld.cuh>

// Shows one of the entries, or none where it is -1.
__device__ void show(int entry, float* observations) {
  float* seen = observations + agent_index() * OBSERVATION_SIZE;
  for (int k = 0; k < OBSERVATION_SIZE; ++k) seen[k] = k == entry ? 1.0f : 0.0f;
}

extern "C" __global__ void step(const int* cue, const int* actions, const int* timestep, float* observations,
                                float* rewards, bool* terminated, int cues, int delay) {
  if (!is_active()) return;  // guard
  const int env = env_id(), now = timestep[env], answered = delay + 2;
  const float paid = actions[agent_index()] == cue[env] ? 1.0f : -1.0f;
  rewards[agent_index()] = now == answered ? paid : 0.0f;
  terminated[env] = now == answered;
  show(now == answered - 1 ? cues : -1, observations);
}

extern "C" __global__ void reset(int* cue, float* observations, int cues) {
  if (!is_active()) return;  // guard
  const int drawn = (int)Random::agent().below((uint32_t)cues);
  cue[env_id()] = drawn;
  show(drawn, observations);
}
