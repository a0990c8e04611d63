// Halves and multiplies: a kernel of eight arguments in WarpDrive's conventions. An env is done when a number has reached the
// target, or at the end of the episode.

extern "C" __global__ void testkernel(float* x, int* y, int* done, int* actions, int multiplier, int target, int step,
                                      int episode_length) {
  __shared__ int reached[wkNumberAgents];
  const int env = getEnvID(blockIdx.x), agent = getAgentID(threadIdx.x, blockIdx.x, blockDim.x);
  const int here = env * wkNumberAgents + agent;
  assert(env < wkNumberEnvs && actions[here] >= 0);
  x[here] = x[here] / multiplier;
  y[here] = y[here] * multiplier;
  reached[agent] = y[here] >= target;
  __sync_env_threads();
  if (reached[agent] || step == episode_length) atomicMax(&done[env], 1);
}
