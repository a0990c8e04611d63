// What stands before the kernels of teams where they are checked as phases of an environment: ends at random.
extern "C" __global__ void end(bool* terminated, bool* truncated, float* last_state) {
  if (!is_active() || agent_id() != 0) return;
  Random random = Random::env();
  terminated[env_id()] = random.uniform() < 0.1f;
  truncated[env_id()] = random.uniform() < 0.4f;
  for (int i = 0; i < STATE_SIZE; ++i) last_state[env_id() * STATE_SIZE + i] = random.uniform();
}
