// Agents beyond a block's threads, which take turns: each walks by its action and by chance, and sees how many of its env
// were in its place a step before. The counts are made by atomic operations, in kernels of their own, which need no barrier.
#include <warpworld.cuh>

extern "C" __global__ void clear(int* counts, int places) {
  if (!is_active()) return;
  for (int place = lane(); place < places; place += num_lanes()) counts[env_id() * places + place] = 0;
}

extern "C" __global__ void walk(int* place, int* counts, const int* actions, float* rewards, bool* truncated,
                                const int* timestep, int places, int episode_length) {
  if (!is_active()) return;
  const int i = agent_index();
  place[i] = (place[i] + actions[i] + (int)Random::agent().below(3u)) % places;
  atomicAdd(&counts[env_id() * places + place[i]], 1);
  rewards[i] = (float)place[i];
  if (agent_id() == NUM_AGENTS - 1) truncated[env_id()] = timestep[env_id()] >= episode_length;
}

extern "C" __global__ void look(const int* place, const int* counts, float* observations, int places) {
  if (!is_active()) return;
  observations[agent_index()] = (float)counts[env_id() * places + place[agent_index()]] / (float)NUM_AGENTS;
}

extern "C" __global__ void start(int* place, float* observations, int places) {
  if (!is_active()) return;
  place[agent_index()] = agent_id() % places;
  observations[agent_index()] = 0.0f;
}
