// Tag on a grid in WarpDrive's conventions: its words, its order of arguments, ends and time in arrays of its own. Agents
// are taggers, but for the last one, who runs.

__constant__ int kIndexToActionArr[10];  // of each move the change of x and of y; the host fills it

__device__ int walk(int place, int change, int last, float penalty, float* reward) {
  const int wanted = place + change, stopped = min(max(wanted, 0), last);
  if (wanted != stopped) *reward -= penalty;
  return stopped;
}

// Everybody's x, y and type, a one for who looks, and the time.
__device__ void see_all(const int* loc_x, const int* loc_y, float* obs, int env, int agent, int last, float time) {
  const int shape[] = {gridDim.x, blockDim.x, 4 * wkNumberAgents + 1};
  for (int other = 0; other < wkNumberAgents; other++) {
    const int at[] = {env, other}, there = get_flattened_array_index(at, shape, 2);
    const float values[4] = {loc_x[there] / (float)last, loc_y[there] / (float)last, other == wkNumberAgents - 1 ? 1.0f : 0.0f,
                             other == agent ? 1.0f : 0.0f};
    for (int k = 0; k < 4; k++) {
      const int column[] = {env, agent, k * wkNumberAgents + other};
      obs[get_flattened_array_index(column, shape, 3)] = values[k];
    }
  }
  const int column[] = {env, agent, 4 * wkNumberAgents};
  obs[get_flattened_array_index(column, shape, 3)] = time;
}

// One's own cell and the runner's, or for the runner the nearest tagger's; one's own type, and the time.
__device__ void see_one(const int* loc_x, const int* loc_y, float* obs, int env, int agent, int last, float time) {
  const int first = env * wkNumberAgents, runner = wkNumberAgents - 1, here = first + agent;
  int other = runner;
  if (agent == runner) {
    double least = 1e30;
    for (int tagger = 0; tagger < runner; tagger++) {
      const double apart = pow(loc_x[first + tagger] - loc_x[here], 2) + pow(loc_y[first + tagger] - loc_y[here], 2);
      if (apart < least) least = apart, other = tagger;
    }
  }
  float* seen = obs + here * 6;
  seen[0] = loc_x[here] / (float)last;
  seen[1] = loc_y[here] / (float)last;
  seen[2] = loc_x[first + other] / (float)last;
  seen[3] = loc_y[first + other] / (float)last;
  seen[4] = agent == runner;
  seen[5] = time;
}

extern "C" {

__global__ void CudaTagGridWorldStep(int* loc_x, int* loc_y, int* actions, int* done, float* rewards, float* obs,
                                     float wall_hit_penalty, float tag_reward, float tag_penalty, float step_cost,
                                     bool use_full_observation, int last, int* env_timestep, int episode_length) {
  __shared__ int cells[wkNumberAgents];
  const int env = getEnvID(blockIdx.x), agent = threadIdx.x, runner = wkNumberAgents - 1;
  const int shape[] = {gridDim.x, blockDim.x}, at[] = {env, agent};
  const int here = get_flattened_array_index(at, shape, 2);
  if (agent == 0) env_timestep[env] += 1;

  float reward = 0.0f;
  assert(actions[here] >= 0 && actions[here] < 5);
  loc_x[here] = walk(loc_x[here], kIndexToActionArr[2 * actions[here]], last, wall_hit_penalty, &reward);
  loc_y[here] = walk(loc_y[here], kIndexToActionArr[2 * actions[here] + 1], last, wall_hit_penalty, &reward);
  cells[agent] = loc_x[here] * (last + 1) + loc_y[here];
  __syncthreads();  // everybody has moved, and the time is this step's

  bool tagged = false;
  for (int tagger = 0; tagger < runner; tagger++) tagged = tagged || cells[tagger] == cells[runner];
  if (agent == runner)
    reward += tagged ? -tag_penalty : step_cost;
  else
    reward += tagged ? tag_reward : -step_cost;
  rewards[here] = reward;

  const float time = env_timestep[env] / (float)episode_length;
  if (use_full_observation)
    see_all(loc_x, loc_y, obs, env, agent, last, time);
  else
    see_one(loc_x, loc_y, obs, env, agent, last, time);
  if (agent == 0 && (tagged || env_timestep[env] == episode_length)) done[env] = 1;
}

}
