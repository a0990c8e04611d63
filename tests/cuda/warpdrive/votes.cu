// Counts votes: a kernel in WarpDrive's conventions that writes no observations. An env is done when enough of its agents vote
// at once, and in the last step.

extern "C" __global__ void CudaVoteStep(int* votes, float* share, int* actions, int* done, float weight, int enough, int step,
                                        int last_step) {
  __shared__ bool ballots[wkNumberAgents];
  const int env = getEnvID(blockIdx.x), agent = getAgentID(threadIdx.x, blockIdx.x, blockDim.x);
  const int here = env * wkNumberAgents + agent;
  assert(env < wkNumberEnvs && actions[here] >= 0);
  ballots[agent] = actions[here] > 0;
  votes[here] += ballots[agent];
  __sync_env_threads();  // every ballot is cast
  int cast = 0;
  for (int i = 0; i < wkNumberAgents; i++) cast += ballots[i];
  share[here] = weight * cast / wkNumberAgents;
  if (agent == 0 && (cast >= enough || step == last_step)) done[env] = 1;
}
