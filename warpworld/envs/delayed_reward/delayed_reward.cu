// Delayed reward: each of the first `decisions` steps shows a cue; naming it pays 1, `delay` steps later.
//
// Arrays: cue (envs,) that is to be named, -1 after the last one; pending (envs, max(delay, 1)) rewards on their way, that
// of a step in place (step - 1) % delay; observations (envs, 1, choices), or with show_pending (envs, 1, choices + delay):
// a one at the cue, then the rewards on their way, the next to arrive first. The agent writes everything. Read: actions
// (envs, 1, 1) the cue that is named.
#include <warpworld.cuh>

struct Task {
  int* cue;
  unsigned char* pending;
  float* observations;
  int choices, delay;
};

__device__ unsigned char* pending_of_this_env(const Task& task) { return task.pending + (size_t)max(task.delay, 1) * env_id(); }

// Draws the next cue, if there is one, and shows what the agent sees after that many steps.
__device__ void ask(const Task& task, bool is_over, int steps) {
  Random random = Random::agent();
  const int cue = is_over ? -1 : (int)random.below((uint32_t)task.choices);
  task.cue[env_id()] = cue;
  float* seen = task.observations + (size_t)agent_index() * OBSERVATION_SIZE;
  for (int k = 0; k < task.choices; ++k) seen[k] = k == cue ? 1.0f : 0.0f;
  const unsigned char* pending = pending_of_this_env(task);
  for (int k = 0; k < OBSERVATION_SIZE - task.choices; ++k) seen[task.choices + k] = (float)pending[(steps + k) % task.delay];
}

// Puts a reward on its way; returns the one that arrives.
__device__ unsigned char sent(const Task& task, unsigned char reward, int steps) {
  if (task.delay == 0) return reward;
  unsigned char& place = pending_of_this_env(task)[(steps - 1) % task.delay];
  const unsigned char arrived = place;
  place = reward;
  return arrived;
}

extern "C" __global__ void step(Task task, const int* actions, const int* timestep, float* rewards, bool* terminated,
                                int decisions) {
  if (!is_active()) return;  // guard
  const int env = env_id(), steps = timestep[env];
  const bool is_right = actions[agent_index()] == task.cue[env];
  rewards[agent_index()] = (float)sent(task, is_right ? 1 : 0, steps);
  terminated[env] = steps >= decisions + task.delay;
  ask(task, steps >= decisions, steps);
}

extern "C" __global__ void reset(Task task) {
  if (!is_active()) return;  // guard
  unsigned char* pending = pending_of_this_env(task);
  for (int k = 0; k < max(task.delay, 1); ++k) pending[k] = 0;
  ask(task, false, 0);
}
