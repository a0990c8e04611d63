// Thieves and guards: thieves run for a gem on a grid, guards run after the thieves.
//
// Arrays: x, y (envs, agents) the cell an agent is on, observations (envs, agents, OBSERVATION_SIZE) and rewards (envs,
// agents), of which each agent writes its own; gem (envs, 2) and truncated (envs,), which agent 0 writes. Read: actions
// (envs, agents, 1): 0 stay, 1 x+1, 2 x-1, 3 y+1, 4 y-1; timestep (envs,).
#include <warpworld.cuh>

__device__ bool is_thief(int agent) { return agent < THIEF_COUNT; }

__device__ int2 random_cell(Random& random, int side) {
  const int x = (int)random.below((unsigned)side), y = (int)random.below((unsigned)side);
  return make_int2(x, y);
}

// Writes what this agent sees: how far away the gem and every agent are, as parts of the longest way.
__device__ void observe(const int* x, const int* y, int2 gem, float* observations, int side) {
  const int i = agent_index(), first = env_id() * NUM_AGENTS;
  const float scale = 1.0f / (float)(side - 1);
  float* seen = observations + (size_t)i * OBSERVATION_SIZE;
  seen[0] = (float)(gem.x - x[i]) * scale;
  seen[1] = (float)(gem.y - y[i]) * scale;
  for (int other = 0; other < NUM_AGENTS; ++other) {
    seen[2 + 2 * other] = (float)(x[first + other] - x[i]) * scale;
    seen[3 + 2 * other] = (float)(y[first + other] - y[i]) * scale;
  }
}

extern "C" __global__ void step(int* x, int* y, int2* gem, const int* actions, const int* timestep, float* observations,
                                float* rewards, bool* truncated, int side, int episode_length) {
  if (!is_active()) return;  // guard
  const int agent = agent_id(), i = agent_index(), first = env_id() * NUM_AGENTS, action = actions[i];
  int2 target = gem[env_id()];
  x[i] = min(max(x[i] + (action == 1) - (action == 2), 0), side - 1);
  y[i] = min(max(y[i] + (action == 3) - (action == 4), 0), side - 1);
  sync_env();  // every agent has moved before it is seen by others, and has read the gem's cell before that changes

  bool stolen = false;
  int met = 0;  // agents of the other group on this agent's cell
  for (int other = 0; other < NUM_AGENTS; ++other) {
    const int its_x = x[first + other], its_y = y[first + other];
    stolen |= is_thief(other) && its_x == target.x && its_y == target.y;
    met += is_thief(other) != is_thief(agent) && its_x == x[i] && its_y == y[i];
  }
  const bool took = x[i] == target.x && y[i] == target.y;
  rewards[i] = is_thief(agent) ? (float)took - (float)met : (float)met;

  Random random = Random::env();  // all agents draw the same, so all know the gem's next cell
  if (stolen) target = random_cell(random, side);
  observe(x, y, target, observations, side);
  if (agent == 0) {
    gem[env_id()] = target;
    truncated[env_id()] = timestep[env_id()] >= episode_length;
  }
}

extern "C" __global__ void reset(int* x, int* y, int2* gem, float* observations, int side) {
  if (!is_active()) return;  // guard
  Random own = Random::agent(), shared = Random::env();
  const int2 cell = random_cell(own, side), target = random_cell(shared, side);
  x[agent_index()] = cell.x;
  y[agent_index()] = cell.y;
  if (agent_id() == 0) gem[env_id()] = target;
  sync_env();  // every agent has its cell before it is seen by others
  observe(x, y, target, observations, side);
}
