// Cats and mice, whose numbers in the env are as the test says: each is paid for the choice that is its own.
#include <warpworld.cuh>

struct Kind {
  bool is_cat;
  int place;  // in the group
};

__device__ Kind kind() {
  const int cat = (agent_id() - CAT_FIRST) / CAT_STRIDE, mouse = (agent_id() - MOUSE_FIRST) / MOUSE_STRIDE;
  const bool is_cat = cat >= 0 && cat < CAT_COUNT && CAT_FIRST + cat * CAT_STRIDE == agent_id();
  return {is_cat, is_cat ? cat : mouse};
}

__device__ int group_place(bool is_cat) {
  return is_cat ? group_index(CAT_FIRST, CAT_COUNT, CAT_STRIDE) : group_index(MOUSE_FIRST, MOUSE_COUNT, MOUSE_STRIDE);
}

__device__ void show(const Kind& who, int x, float* observations_cat, float* observations_mouse, bool* action_mask) {
  float* seen = (who.is_cat ? observations_cat : observations_mouse) + 4 * group_place(who.is_cat);
  for (int k = 0; k < 3; ++k) seen[k] = k == who.place ? 1.0f : 0.0f;
  seen[3] = 0.1f * (float)(x % 7);
  for (int choice = 0; choice < 4; ++choice)
    action_mask[4 * agent_index() + choice] = choice != (who.place + (who.is_cat ? 1 : 2)) % 4;
}

extern "C" __global__ void step(int* x, const int* actions_cat, const int* actions_mouse,
                                float* observations_cat, float* observations_mouse, bool* action_mask, float* rewards,
                                const int* timestep, bool* truncated) {
  if (!is_active()) return;
  const Kind who = kind();
  const int choice = (who.is_cat ? actions_cat : actions_mouse)[group_place(who.is_cat)];
  const bool is_allowed = action_mask[4 * agent_index() + choice];
  x[agent_index()] += choice + who.place + (who.is_cat ? 1 : 3);
  rewards[agent_index()] =
      !is_allowed ? -100.0f : choice == (who.is_cat ? who.place : (who.place + 1) % 4) ? 1.0f : 0.0f;
  show(who, x[agent_index()], observations_cat, observations_mouse, action_mask);
  if (agent_id() == 0) truncated[env_id()] = timestep[env_id()] >= 5;
}

extern "C" __global__ void reset(int* x, float* observations_cat, float* observations_mouse, bool* action_mask) {
  if (!is_active()) return;
  const Kind who = kind();
  x[agent_index()] = who.place;
  show(who, who.place, observations_cat, observations_mouse, action_mask);
}
