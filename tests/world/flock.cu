// Wolves and sheep on a line. A wolf sees how far each sheep is, a sheep how far each wolf is; the layouts agree where
// there are as many of both.

__device__ int first_of(int group_first) { return env_id() * NUM_AGENTS + group_first; }
__device__ bool is_wolf() { return agent_id() < WOLF_COUNT; }

// Writes what this agent sees of the other group.
__device__ void look(const int* x, float* seen_by_wolf, float* seen_by_sheep) {
  const int others = is_wolf() ? SHEEP_COUNT : WOLF_COUNT, first = first_of(is_wolf() ? SHEEP_FIRST : WOLF_FIRST);
  float* seen = is_wolf() ? seen_by_wolf : seen_by_sheep;
  for (int i = 0; i < others; ++i) seen[i] = (float)(x[first + i] - x[agent_index()]);
}

__device__ void walk(int* x, int action, const int* timestep, float* rewards, bool* truncated) {
  x[agent_index()] += action - 1;
  sync_env();  // orders all places before they are seen
  float gap = 99.0f;
  const int others = is_wolf() ? SHEEP_COUNT : WOLF_COUNT, first = first_of(is_wolf() ? SHEEP_FIRST : WOLF_FIRST);
  for (int i = 0; i < others; ++i) gap = fminf(gap, fabsf((float)(x[first + i] - x[agent_index()])));
  rewards[agent_index()] = is_wolf() ? -gap : gap;
  if (agent_id() == 0) truncated[env_id()] = timestep[env_id()] == 5;
}

// ---- with arrays of each group's own --------------------------------------------------------------------------------
__device__ int wolf_index() { return group_index(WOLF_FIRST, WOLF_COUNT); }
__device__ int sheep_index() { return group_index(SHEEP_FIRST, SHEEP_COUNT); }

__device__ void look_from_own(const int* x, float* observations_wolf, float* observations_sheep) {
  look(x, observations_wolf + wolf_index() * SHEEP_COUNT, observations_sheep + sheep_index() * WOLF_COUNT);
}

extern "C" __global__ void step(int* x, const int* actions_wolf, const int* actions_sheep, const int* timestep,
                                float* observations_wolf, float* observations_sheep, float* rewards, bool* truncated) {
  if (!is_active()) return;
  walk(x, is_wolf() ? actions_wolf[wolf_index()] : actions_sheep[sheep_index()], timestep, rewards, truncated);
  look_from_own(x, observations_wolf, observations_sheep);
}

extern "C" __global__ void reset(int* x, float* observations_wolf, float* observations_sheep) {
  if (!is_active()) return;
  x[agent_index()] = Random::agent().below(9);
  sync_env();  // orders all places before they are seen
  look_from_own(x, observations_wolf, observations_sheep);
}

// ---- with shared arrays, where groups are of one size ---------------------------------------------------------------
extern "C" __global__ void step_shared(int* x, const int* actions, const int* timestep, float* observations,
                                       float* rewards, bool* truncated) {
  if (!is_active()) return;
  walk(x, actions[agent_index()], timestep, rewards, truncated);
  float* seen = observations + agent_index() * WOLF_COUNT;
  look(x, seen, seen);
}

extern "C" __global__ void reset_shared(int* x, float* observations) {
  if (!is_active()) return;
  x[agent_index()] = Random::agent().below(9);
  sync_env();  // orders all places before they are seen
  float* seen = observations + agent_index() * WOLF_COUNT;
  look(x, seen, seen);
}
