// Deathmatch: agents walk through a home and shoot at each other. Rules: deathmatch.py.
//
// Arrays: per agent positions, velocity, angles, angvelocity, health, cooling, kills, deaths, potential, in_sight, and
// shot, shot_from, shot_to of this step; per env plan and together, whether spawns are in one room; of the world shaping
// and near_spawn. A step is: `act` moves agents and resolves all shots on where everybody then is; `settle` counts hits,
// pays, and says who is dead; `go_on` puts the dead somewhere else and tells everybody its state, so that what an agent
// is shown of a step in which it died is its next life; `see` draws what cameras see. `wake` begins an episode.
#include <indoor.cuh>
#include <warpworld.cuh>

#include "sight.cuh"
#include "spawn.cuh"

// What heads of 5 and 5 choices push: one 0 nothing, 1 left, 2 right, 3 forward, 4 back, the other one 0 nothing, 1 left,
// 2 right, 3 slightly left, 4 slightly right.
__device__ Push push_by(int move, int turn) {
  const Push step = push_of(move);
  return Push{step.forward, step.left, (float)((turn == 1) - (turn == 2)) + 0.25f * (float)((turn == 3) - (turn == 4))};
}

__device__ bool any_of(const bool* values) {
  bool any = false;
  for (int i = 0; i < NUM_AGENTS; ++i) any |= values[i];
  return any;
}

// The first of those who hit an agent.
__device__ int killer_of(const int* shot, int who) {
  int killer = 0;
  while (shot[killer] != who) ++killer;
  return killer;
}

// Gives those who died a place, one after the other: anywhere, or where their killer is.
__device__ void respawn(const bool* died, const int* shot, const Rooms& home, bool together, float2* positions,
                        bool* stands) {
  Random random = Random::env();
  for (int i = 0; i < NUM_AGENTS; ++i) stands[i] = !died[i];
  for (int i = 0; i < NUM_AGENTS; ++i) {
    if (!died[i]) continue;
    const Rooms rooms = together ? room_at(home, positions[killer_of(shot, i)]) : home;
    put_apart(rooms, home, i, positions, stands, random);
  }
}

// Begins a life of this agent where it has been put: at rest, looking anywhere.
__device__ void wake_up(const Motions& motions) {
  const int i = agent_index();
  motions.velocity[i] = make_float2(0.0f, 0.0f);
  motions.angles[i] = Random::agent().uniform(-180.0f, 180.0f);
  motions.angvelocity[i] = 0.0f;
}

extern "C" __global__ void act(float2* positions, float2* velocity, float* angles, float* angvelocity, int* cooling,
                               bool* in_sight, int* shot, float2* shot_from, float2* shot_to, const int* actions,
                               const int* plan, const float4* plan_walls, const int* plan_first_wall, float accel,
                               float ang_accel, float decay, float fps, int cooldown, float fire_cone,
                               float fire_range) {
  if (!is_active()) return;
  const int i = agent_index(), env = env_id();
  const int* action = actions + 3 * i;
  const float2* places = positions + env * NUM_AGENTS;
  bool* sight = in_sight + i * NUM_AGENTS;
  const Walls walls = walls_of(plan[env], plan_walls, plan_first_wall);
  const Motions motions{positions, velocity, angles, angvelocity};
  Motion motion = motions.load(i);
  push(motion, push_by(action[0], action[1]), accel, ang_accel, decay, fps);
  walk(motion, walls, fps);
  motions.store(i, motion);
  sync_env();  // orders all places before anybody looks for others
  find_in_sight(walls, places, sight);
  const Gun gun{fire_cone, fire_range};
  const bool fires = action[2] == 1 && cooling[i] == 0;
  const int hit = fires ? hit_by(gun, motion, places, sight) : NO_SHOT;
  shot[i] = hit;
  shot_from[i] = motion.position;
  shot_to[i] = hit >= 0 ? places[hit] : fires ? end_of_shot(gun, motion, walls) : motion.position;
  cooling[i] = fires ? cooldown - 1 : cooling[i] > 0 ? cooling[i] - 1 : 0;
}

extern "C" __global__ void settle(float* health, int* kills, int* deaths, float* rewards, bool* agent_terminated,
                                  bool* terminated, bool* truncated, const int* shot, const int* timestep, float damage,
                                  float kill_reward, int kills_to_win, int episode_length) {
  if (!is_active()) return;
  const int i = agent_index(), env = env_id(), first = env * NUM_AGENTS, hit = shot[i];
  int hits = 0;
  for (int other = 0; other < NUM_AGENTS; ++other) hits += shot[first + other] == agent_id();
  health[i] = plane::larger(health[i] - damage * (float)hits, 0.0f);
  const bool dies = health[i] < 1e-3f;  // what sums of damages are off by
  agent_terminated[i] = dies;
  sync_env();  // orders who dies before killers are paid
  const bool kills_one = hit >= 0 && agent_terminated[first + (hit >= 0 ? hit : 0)];
  const float dealt = (hit >= 0 ? damage : 0.0f) + (kills_one ? kill_reward : 0.0f);
  rewards[i] = dealt - (float)hits * (damage + (dies ? kill_reward : 0.0f));
  kills[i] += kills_one;
  deaths[i] += dies;
  sync_env();  // orders kills before they are compared with what it takes to win
  if (agent_id() != 0) return;
  int most = 0;
  for (int other = 0; other < NUM_AGENTS; ++other) most = kills[first + other] > most ? kills[first + other] : most;
  terminated[env] = kills_to_win > 0 && most >= kills_to_win;
  truncated[env] = timestep[env] >= episode_length;
}

extern "C" __global__ void go_on(float2* positions, float2* velocity, float* angles, float* angvelocity, float* health,
                                 int* cooling, float* potential, bool* in_sight, float* observations_imu,
                                 float* observations_health, float* observations_cooldown, float* rewards,
                                 const bool* agent_terminated, const bool* terminated, const int* shot,
                                 const bool* together, const float* shaping, const int* plan, const float4* plan_walls,
                                 const int* plan_first_wall, const int* plan_first_room, const int* room_first_cell,
                                 const float2* plan_cells, float tan_half_fov, int cooldown, float shaping_gamma) {
  if (!is_active()) return;
  ENV_SHARED(bool, stands, NUM_AGENTS);
  const int i = agent_index(), env = env_id(), first = env * NUM_AGENTS;
  const Motions motions{positions, velocity, angles, angvelocity};
  const bool died = agent_terminated[i];
  if (any_of(agent_terminated + first)) {
    const Rooms home = rooms_of(plan[env], plan_first_room, room_first_cell, plan_cells);
    if (agent_id() == 0) respawn(agent_terminated + first, shot + first, home, together[env], positions + first, stands);
    sync_env();  // orders new places before anybody looks for others
    find_in_sight(walls_of(plan[env], plan_walls, plan_first_wall), positions + first, in_sight + i * NUM_AGENTS);
  }
  if (died) {
    wake_up(motions);
    health[i] = 1.0f;
    cooling[i] = 0;
  }
  const Motion motion = motions.load(i);
  const float now = potential_of(motion, positions + first, in_sight + i * NUM_AGENTS, tan_half_fov);
  rewards[i] += shaping[0] * (shaping_gamma * (died || terminated[env] ? 0.0f : now) - potential[i]);
  potential[i] = now;
  feel(motion, observations_imu + 3 * i);
  observations_health[i] = health[i];
  observations_cooldown[i] = (float)cooling[i] / (float)cooldown;
}

extern "C" __global__ void wake(float2* positions, float2* velocity, float* angles, float* angvelocity, float* health,
                                int* cooling, int* kills, int* deaths, float* potential, bool* in_sight, int* shot,
                                float2* shot_from, float2* shot_to, float* observations_imu, float* observations_health,
                                float* observations_cooldown, int* plan, bool* together, const float* near_spawn,
                                const float4* plan_walls, const int* plan_first_wall, const int* plan_first_room,
                                const int* room_first_cell, const float2* plan_cells, int num_plans,
                                float tan_half_fov) {
  if (!is_active()) return;
  ENV_SHARED(bool, stands, NUM_AGENTS);  // whether an agent has a place
  const int i = agent_index(), self = agent_id(), env = env_id();
  float2* places = positions + env * NUM_AGENTS;
  bool* sight = in_sight + i * NUM_AGENTS;
  if (self == 0) {
    Random random = Random::env();
    plan[env] = (int)random.below((uint32_t)num_plans);
    together[env] = random.uniform() < near_spawn[0];
    const Rooms home = rooms_of(plan[env], plan_first_room, room_first_cell, plan_cells);
    const Rooms rooms = together[env] ? any_room(home, random) : home;
    for (int agent = 0; agent < NUM_AGENTS; ++agent) stands[agent] = false;
    for (int agent = 0; agent < NUM_AGENTS; ++agent) put_apart(rooms, home, agent, places, stands, random);
  }
  sync_env();  // orders the plan and all places before they are read
  const Motions motions{positions, velocity, angles, angvelocity};
  wake_up(motions);
  const Motion motion = motions.load(i);
  find_in_sight(walls_of(plan[env], plan_walls, plan_first_wall), places, sight);
  health[i] = 1.0f;
  cooling[i] = kills[i] = deaths[i] = 0;
  potential[i] = potential_of(motion, places, sight, tan_half_fov);
  shot[i] = NO_SHOT;
  shot_from[i] = shot_to[i] = motion.position;
  feel(motion, observations_imu + 3 * i);
  observations_health[i] = 1.0f;
  observations_cooldown[i] = 0.0f;
}

extern "C" __global__ void see(const float2* positions, const float* angles, float* observations_rgb,
                               float* observations_depth, const int* plan, const float4* plan_walls,
                               const int* plan_first_wall, const int* wall_first_texel, const unsigned* wall_texels,
                               float tan_half_fov) {
  if (!is_active()) return;
  using Eye = raycast::Eye<RES, MOST_WALLS>;
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  ENV_SHARED(float, brightness, NUM_AGENTS);
  const int env = env_id(), first = env * NUM_AGENTS;
  const Surfaces surfaces = surfaces_of(plan[env], plan_walls, plan_first_wall, wall_first_texel, wall_texels);
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    bodies[agent] = Body{positions[first + agent], direction_of(angles[first + agent]), AGENT_WIDTH};
    brightness[agent] = 1.0f;
  }
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    sync_env();  // orders bodies before they are seen, and what one has seen before the next looks
    const Camera camera{bodies[agent].position, bodies[agent].forward, tan_half_fov};
    look(eye[0], camera, surfaces.walls, bodies, agent);
    show<SUBSAMPLE>(eye[0], camera, surfaces, brightness, observations_rgb + (first + agent) * 3 * PIXELS,
                    observations_depth + (first + agent) * PIXELS, [](int, int) {});
  }
}
