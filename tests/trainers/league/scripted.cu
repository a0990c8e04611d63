// Two scripts beside an env that counts its steps.
#include <script.cuh>
#include <warpworld.cuh>

// Shows every agent the number of the step.
__device__ void show(float* even, float* odd, int step) {
  if (agent_id() % 2 == 0)
    even[group_index(EVEN_FIRST, EVEN_COUNT, EVEN_STRIDE)] = (float)step;
  else
    odd[group_index(ODD_FIRST, ODD_COUNT, ODD_STRIDE)] = (float)step;
}

extern "C" __global__ void step(float* observations_even, float* observations_odd, const int* timestep, bool* truncated) {
  if (!is_active()) return;  // guard
  show(observations_even, observations_odd, timestep[env_id()]);
  if (agent_id() == 0) truncated[env_id()] = timestep[env_id()] >= 4;
}

extern "C" __global__ void reset(float* observations_even, float* observations_odd) {
  if (is_active()) show(observations_even, observations_odd, 0);
}

// Each agent counts up from its own number, by its place in the env.
extern "C" __global__ void counts(Played played, const int* timestep) {
  if (!plays(played, agent_id())) return;
  choose(outputs_of(played, agent_id()), played.script_width, (timestep[env_id()] + agent_id()) % played.script_width);
}

// The last choice, whatever happens; by few lanes, and without the struct.
extern "C" __global__ void persists(const int* script_players, int script_number, float* script_outputs,
                                    int script_agents, int script_width) {
  if (!is_active() || script_players[env_id()] != script_number) return;
  for (int i = lane(); i < script_agents; i += num_lanes())
    choose(script_outputs + (env_id() * script_agents + i) * script_width, script_width, script_width - 1);
}

extern "C" __global__ void idles() {}

extern "C" __global__ void mistakes(Played played, const float* tmestep) {}
