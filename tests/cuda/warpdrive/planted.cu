// What goes wrong in kernels that take pointers without const.

extern "C" __global__ void write_actions(int* actions, float* rewards, float* obs) {
  const int here = getEnvID(blockIdx.x) * wkNumberAgents + threadIdx.x;
  rewards[here] = actions[here];
  obs[here] = 0.0f;
  if (here % 2 == 1) actions[here] = 0;  // planted
}
