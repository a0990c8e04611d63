// Tag in a square in WarpDrive's conventions and with its order of arguments: who tags and who runs is said by agent_types,
// ends and time are in arrays of the env's own. LOST_UPDATES plants what several runners lose who are tagged in one step.

__constant__ float kTwoPi = 6.283185308f;
__constant__ float kTiny = 1.0e-10f;

// Turns, accelerates and goes on; returns whether an edge was in the way.
__device__ bool move(float* x, float* y, float* speed, float* direction, float* acceleration, float turn, float push,
                     float fastest, float side, int alive) {
  *acceleration += push;
  *direction = fmod(*direction + turn, kTwoPi) * alive;
  if (*direction < 0) *direction += kTwoPi;
  *speed = min(fastest, max(0.0, *speed + *acceleration)) * alive;
  if (*speed <= 0.0 || *speed >= fastest) *acceleration = 0.0;
  *x += *speed * cos(*direction);
  *y += *speed * sin(*direction);
  const bool outside = *x < 0 || *x > side || *y < 0 || *y > side;
  *x = min(side, max(0.0, *x));
  *y = min(side, max(0.0, *y));
  return outside;
}

__device__ float distance(const float* loc_x, const float* loc_y, int a, int b) {
  return sqrt(pow(loc_x[a] - loc_x[b], 2) + pow(loc_y[a] - loc_y[b], 2));
}

// What `seen[row * stride]` holds of another agent: the differences, and its type and whether it plays.
__device__ void see(float* seen, int stride, const float* const* state, const float* scale, int self, int other, int type,
                    int alive, int looks) {
  for (int k = 0; k < 5; k++) seen[k * stride] = looks ? (state[k][other] - state[k][self]) / scale[k] : 0.0f;
  seen[5 * stride] = type;
  seen[6 * stride] = alive;
}

// Sorts the nearest of the others who play to the front; returns how many there are, at most `wanted`.
__device__ int find_nearest(const float* loc_x, const float* loc_y, const int* alive, int first, int agent, int num_agents,
                            int wanted, float* apart, int* ids, int* nearest) {
  int count = 0;
  for (int other = 0; other < num_agents; other++) {
    if (other == agent || !alive[first + other]) continue;
    apart[count] = distance(loc_x, loc_y, first + agent, first + other);
    ids[count++] = other;
  }
  const int found = min(count, wanted);
  for (int k = 0; k < found; k++) {
    int least = k;
    for (int i = k + 1; i < count; i++)
      if (apart[i] < apart[least] || (apart[i] == apart[least] && ids[i] < ids[least])) least = i;
    const float kept = apart[k];
    const int id = ids[k];
    apart[k] = apart[least], ids[k] = ids[least];
    apart[least] = kept, ids[least] = id;
    nearest[k] = ids[k];
  }
  return found;
}

extern "C" {

__global__ void CudaTagContinuousStep(
    float* loc_x, float* loc_y, float* speed, float* direction, float* acceleration, int* agent_types,
    float* edge_hit_reward_penalty, float edge_hit_penalty, float grid_length, float* acceleration_actions,
    float* turn_actions, float max_speed, int num_other_agents_observed, float* skill_levels,
    bool runner_exits_game_after_tagged, int* still_in_the_game, bool use_full_observation, float* obs, int* actions,
    float* neighbor_distances, int* neighbor_ids_sorted, int* nearest_neighbor_ids, float* rewards, float* step_rewards,
    int* num_runners, float distance_margin, float tag_reward, float tag_penalty, float end_of_game_reward, int* done,
    int* env_timestep, int num_agents, int episode_length) {
  const int env = getEnvID(blockIdx.x), agent = getAgentID(threadIdx.x, blockIdx.x, blockDim.x);
  const int first = env * num_agents, here = first + agent, others = num_agents - 1;

  if (agent < num_agents) {
    if (agent == 0) env_timestep[env] += 1;
    const int index = 2 * here;
    const bool outside =
        move(&loc_x[here], &loc_y[here], &speed[here], &direction[here], &acceleration[here], turn_actions[actions[index + 1]],
             acceleration_actions[actions[index]], max_speed * skill_levels[agent], grid_length, still_in_the_game[here]);
    edge_hit_reward_penalty[here] = outside ? edge_hit_penalty : 0.0f;
    __sync_env_threads();  // everybody has moved, and the time is this step's

    const float* state[] = {loc_x + first, loc_y + first, speed + first, acceleration + first, direction + first};
    const float side = sqrt(2.0) * grid_length, fastest = max_speed + kTiny;
    const float scale[] = {side, side, fastest, fastest, kTwoPi};
    const int looks = still_in_the_game[here];
    const int shown = use_full_observation ? others : num_other_agents_observed, columns = 7 * shown + 1;
    float* seen = obs + here * columns;
    for (int k = 0; k < columns; k++) seen[k] = 0.0f;
    if (use_full_observation) {
      for (int other = 0; other < num_agents; other++)
        if (other != agent)
          see(seen + other - (other > agent), shown, state, scale, agent, other, agent_types[other],
              still_in_the_game[first + other], looks);
    } else if (looks) {
      int* nearest = nearest_neighbor_ids + here * shown;
      const int found = find_nearest(loc_x, loc_y, still_in_the_game, first, agent, num_agents, shown,
                                     neighbor_distances + here * others, neighbor_ids_sorted + here * others, nearest);
      for (int k = 0; k < found; k++)
        see(seen + k, shown, state, scale, agent, nearest[k], agent_types[nearest[k]], 1, looks);
    }
    seen[columns - 1] = looks ? env_timestep[env] / (float)episode_length : 0.0f;
    rewards[here] = looks ? edge_hit_reward_penalty[here] + step_rewards[agent] : 0.0f;
    __sync_env_threads();  // nobody looks any more at who plays, and every reward is there to be added to

    if (agent_types[agent] == 0 && looks) {
      int nearest = -1;
      float least = 1.0e30f;
      for (int other = 0; other < num_agents; other++)
        if (agent_types[other] == 1 && distance(loc_x, loc_y, here, first + other) < least) {
          least = distance(loc_x, loc_y, here, first + other);
          nearest = other;
        }
      if (least < distance_margin) {
        rewards[here] += tag_penalty;
        if (LOST_UPDATES)
          rewards[first + nearest] += tag_reward;  // lost reward
        else
          atomicAdd(&rewards[first + nearest], tag_reward);
        if (runner_exits_game_after_tagged) {
          still_in_the_game[here] = 0;
          if (LOST_UPDATES)
            num_runners[env] -= 1;  // lost count
          else
            atomicSub(&num_runners[env], 1);
        }
      } else if (env_timestep[env] == episode_length) {
        rewards[here] += end_of_game_reward;
      }
    }
    __sync_env_threads();  // num_runners counts this step's tags

    if (agent == 0 && (env_timestep[env] == episode_length || num_runners[env] == 0)) done[env] = 1;
  }
}

}
