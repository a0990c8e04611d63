// Deathmatch: agents walk through a home and shoot at each other. Rules: deathmatch.py.
//
// Arrays: per agent positions, velocity, angles, angvelocity, health, cooling, kills, deaths, potential, in_sight, and
// shot, shot_from, shot_to of this step; per env plan and together, whether spawns are in one room; of the world
// shaping and near_spawn. A step is: `act` moves agents and resolves all shots on where everybody then is; `settle`
// counts hits, pays, and says who is dead; `go_on` puts the dead somewhere else and tells everybody its state, so that
// what an agent is shown of a step in which it died is its next life; `see` draws what cameras see. `wake` begins an
// episode.
#include <look_around.cuh>
#include <warpworld.cuh>

#include "megastep_rules.cuh"
#include "sight.cuh"
#include "spawn.cuh"

// What heads of 5 and 5 choices push: one 0 nothing, 1 left, 2 right, 3 forward, 4 back, the other one 0 nothing, 1
// left, 2 right, 3 slightly left, 4 slightly right.
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
    const bool* dead = agent_terminated + first;
    if (agent_id() == 0) respawn(dead, shot + first, home, together[env], positions + first, stands);
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
                               float* observations_depth, float* observations_agents, const int* plan,
                               const float4* plan_walls, const int* plan_first_wall, const int* wall_first_texel,
                               const unsigned* wall_texels, const int4* plan_floor, const unsigned char* floor_light,
                               float tan_half_fov) {
  if (!is_active()) return;
  look_around<1>(scene_of(positions, angles, nullptr, plan, plan_walls, plan_first_wall, wall_first_texel, wall_texels,
                          plan_floor, floor_light, tan_half_fov),
                 observations_rgb, observations_depth, observations_agents);
}

// ---- megastep's rules -----------------------------------------------------------------------------------------------
//
// Arrays, beside those above: per agent spawn_positions and spawn_angles, the poses it wakes up in; per env spawn_plan, the
// plan that these are in, -1 before they are drawn; of the world plan_extent. A step is: `act_by_megastep` lets the dead
// wake up, moves everybody, and lets everybody shoot whom the two middle pixels show; then `see_by_megastep`, which tells
// nobody which pixels are agents. `wake_by_megastep` begins an episode.

extern "C" __global__ void act_by_megastep(
    float2* positions, float2* velocity, float* angles, float* angvelocity, float* health, int* kills, int* deaths,
    bool* in_sight, int* shot, float2* shot_from, float2* shot_to, float* observations_imu, float* observations_health,
    float* rewards, bool* agent_terminated, bool* truncated, const int* actions, const int* timestep, const int* plan,
    const float4* plan_walls, const int* plan_first_wall, const int* plan_first_room, const int* room_first_cell,
    const float2* plan_cells, const float2* plan_extent, const float2* spawn_positions, const float* spawn_angles,
    float accel, float ang_accel, float decay, float fps, float tan_half_fov, float fire_cone, float fire_range,
    float kill_reward, int episode_length, bool mend_bounds, bool mend_reward, bool mend_aim, bool mend_credit,
    bool mend_spawns) {
  if (!is_active()) return;
  ENV_SHARED(Targets, shared, 1);
  Targets& targets = shared[0];
  const int i = agent_index(), self = agent_id(), env = env_id(), first = env * NUM_AGENTS;
  const Walls walls = walls_of(plan[env], plan_walls, plan_first_wall);
  const Rooms home = rooms_of(plan[env], plan_first_room, room_first_cell, plan_cells);
  const Motions motions{positions, velocity, angles, angvelocity};
  const bool was_dead = health[i] <= 0.0f;  // and its last action will move the new body
  if (was_dead) {
    wake_by(motions, spawn_positions, spawn_angles, home, mend_spawns);
    health[i] = 1.0f;
  }
  Motion motion = motions.load(i);
  push(motion, push_of(actions[i]), accel, ang_accel, decay, fps);
  walk(motion, walls, fps);
  motions.store(i, motion);
  sync_env();  // orders all places before anybody looks for others

  find_in_sight(walls, positions + first, in_sight + i * NUM_AGENTS);
  int one = NOBODY, two = NOBODY;
  if (mend_aim) {
    one = hit_by(Gun{fire_cone, fire_range}, motion, positions + first, in_sight + i * NUM_AGENTS);
  } else {
    const int ray = (PIXELS / 2 - 1) * SUBSAMPLE + SUBSAMPLE / 2;  // that a pixel is said to show: its middle one
    one = shown_by(motion, ray, walls, positions + first, angles + first, tan_half_fov);
    two = shown_by(motion, ray + SUBSAMPLE, walls, positions + first, angles + first, tan_half_fov);
    if (one == NOBODY) one = two;
    if (two == one) two = NOBODY;
  }
  targets.first[self] = one;
  targets.second[self] = two;
  shot[i] = one == NOBODY ? NO_SHOT : one;
  shot_from[i] = motion.position;
  shot_to[i] = one == NOBODY ? motion.position : positions[first + one];
  sync_env();  // orders all targets before hits are counted

  int hits = 0;
  for (int other = 0; other < NUM_AGENTS; ++other)
    hits += targets.first[other] == self || targets.second[other] == self;
  const float2 extent = plan_extent[plan[env]], limit = mend_bounds ? extent : make_float2(extent.y, extent.x);
  const float2 place = motion.position;
  const bool outside = place.x < -1.0f || place.y < -1.0f || place.x > limit.x + 1.0f || place.y > limit.y + 1.0f;
  const float lost = MEGASTEP_DAMAGE * (float)(hits + outside) + MEGASTEP_DECAY;
  health[i] = plane::larger(health[i] - lost, 0.0f);
  const bool dies = health[i] <= 0.0f;
  targets.dies[self] = dies;
  sync_env();  // orders who dies before killers are paid, and all shots before somebody is put elsewhere

  const int dealt = (one != NOBODY) + (two != NOBODY);
  const int killed = (one >= 0 && targets.dies[one < 0 ? 0 : one]) + (two >= 0 && targets.dies[two < 0 ? 0 : two]);
  // In hits, as the published reward is, so that learning sees rewards of one size.
  const float won = (float)(dealt - hits) + MEGASTEP_LIFE * kill_reward * (float)(killed - (dies ? hits : 0));
  rewards[i] = mend_reward ? won : (float)dealt;
  kills[i] += killed;
  deaths[i] += dies;
  agent_terminated[i] = mend_credit ? dies : was_dead;
  if (mend_credit && dies) {
    wake_by(motions, spawn_positions, spawn_angles, home, mend_spawns);
    health[i] = 1.0f;
    motion = motions.load(i);
  }
  if (self == 0) truncated[env] = timestep[env] >= episode_length;
  feel(motion, observations_imu + 3 * i);
  observations_health[i] = health[i];
}

extern "C" __global__ void wake_by_megastep(
    float2* positions, float2* velocity, float* angles, float* angvelocity, float* health, int* cooling, int* kills,
    int* deaths, float* potential, bool* in_sight, int* shot, float2* shot_from, float2* shot_to, bool* together,
    float* observations_imu, float* observations_health, int* plan, float2* spawn_positions, float* spawn_angles,
    int* spawn_plan, const float4* plan_walls, const int* plan_first_wall, const int* plan_first_room,
    const int* room_first_cell, const float2* plan_cells, int num_plans, bool mend_spawns) {
  if (!is_active()) return;
  const int i = agent_index(), env = env_id(), first = env * NUM_AGENTS;
  const bool is_new = spawn_plan[env] < 0 || mend_spawns;
  sync_env();  // orders the reading of spawn_plan before it is set
  if (agent_id() == 0) {
    if (is_new) spawn_plan[env] = (int)Random::env().below((uint32_t)num_plans);
    plan[env] = spawn_plan[env];
    together[env] = false;
  }
  sync_env();  // orders the plan before places in it are drawn
  const Rooms home = rooms_of(plan[env], plan_first_room, room_first_cell, plan_cells);
  if (is_new) {
    Random own = Random::of(NUM_AGENTS + agent_id());
    for (int pose = i * NUM_AGENTS; pose < (i + 1) * NUM_AGENTS; ++pose) {
      spawn_positions[pose] = place_anywhere(home, own);
      spawn_angles[pose] = own.uniform(-180.0f, 180.0f);
    }
  }
  const Motions motions{positions, velocity, angles, angvelocity};
  wake_by(motions, spawn_positions, spawn_angles, home, mend_spawns);
  sync_env();  // orders all places before anybody looks for others
  find_in_sight(walls_of(plan[env], plan_walls, plan_first_wall), positions + first, in_sight + i * NUM_AGENTS);
  health[i] = 1.0f;
  cooling[i] = kills[i] = deaths[i] = 0;
  potential[i] = 0.0f;
  shot[i] = NO_SHOT;
  shot_from[i] = shot_to[i] = positions[i];
  feel(motions.load(i), observations_imu + 3 * i);
  observations_health[i] = 1.0f;
}

extern "C" __global__ void see_by_megastep(const float2* positions, const float* angles, float* observations_rgb,
                                           float* observations_depth, const int* plan, const float4* plan_walls,
                                           const int* plan_first_wall, const int* wall_first_texel,
                                           const unsigned* wall_texels, const int4* plan_floor,
                                           const unsigned char* floor_light, float tan_half_fov) {
  if (!is_active()) return;
  look_around<1>(scene_of(positions, angles, nullptr, plan, plan_walls, plan_first_wall, wall_first_texel, wall_texels,
                          plan_floor, floor_light, tan_half_fov),
                 observations_rgb, observations_depth, Unseen());
}
