// Signalling: the sender (agent 0) sees a state and chooses a signal; a step later the receiver (agent 1), which sees the
// signal, names the state. Both earn 1 if it is right.
//
// Arrays: state (envs,) drawn at each reset; signal (envs,) that was sent, -1 before; observations_sender (envs, 1, states)
// a one at the state; observations_receiver (envs, 1, signals) a one at the signal, in the second step alone. Each agent
// writes its own observations; the sender writes the rest. Read: actions_sender (envs, 1, 1), which counts in the first
// step; actions_receiver (envs, 1, 1), which counts in the second.
#include <warpworld.cuh>

struct Seen {
  float *observations_sender, *observations_receiver;
  int states, signals;
};

__device__ void show(int entry, float* row, int size) {
  for (int k = 0; k < size; ++k) row[k] = k == entry ? 1.0f : 0.0f;
}

// Shows the sender the state, and the receiver the signal, or nothing where it is -1.
__device__ void show(const Seen& seen, int state, int signal) {
  const size_t env = env_id();
  if (agent_id() == SENDER_FIRST) {
    show(state, seen.observations_sender + env * seen.states, seen.states);
  } else {
    show(signal, seen.observations_receiver + env * seen.signals, seen.signals);
  }
}

extern "C" __global__ void step(const int* state, int* signal, const int* actions_sender, const int* actions_receiver,
                                const int* timestep, Seen seen, float* rewards, bool* terminated) {
  if (!is_active()) return;  // guard
  const int env = env_id();
  const bool is_named = timestep[env] >= 2;
  rewards[agent_index()] = is_named && actions_receiver[env] == state[env] ? 1.0f : 0.0f;
  show(seen, state[env], is_named ? -1 : actions_sender[env]);
  if (agent_id() != SENDER_FIRST) return;
  if (!is_named) signal[env] = actions_sender[env];
  terminated[env] = is_named;
}

extern "C" __global__ void reset(int* state, int* signal, Seen seen) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  const int drawn = (int)random.below((uint32_t)seen.states);  // the sender's draw counts
  if (agent_id() == SENDER_FIRST) {
    state[env_id()] = drawn;
    signal[env_id()] = -1;
  }
  show(seen, drawn, -1);
}
