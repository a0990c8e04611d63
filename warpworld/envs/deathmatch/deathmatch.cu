// Deathmatch: agents walk through a home and shoot at each other. Rules: deathmatch.py.
//
// Arrays: per agent positions, velocity, angles, angvelocity, health, cooling, kills, deaths, potential, in_sight, and
// shot, shot_from, shot_to of this step; per env plan and together, whether spawns are in one room; of the world shaping
// and near_spawn. `act` moves agents, resolves all shots of the step on where everybody then is, pays, and puts who died
// somewhere else: what an agent is shown of a step in which it died is its next life. `see` draws what cameras see;
// `wake` puts everybody into a random plan.
#include <indoor.cuh>
#include <warpworld.cuh>

#include "sight.cuh"
#include "spawn.cuh"

// What the env's lanes show each other of a step.
struct Fight {
  int shot[NUM_AGENTS];  // the agent that each one's shot has hit, MISSED or NO_SHOT
  bool dies[NUM_AGENTS];
  bool wins[NUM_AGENTS];
  bool stands[NUM_AGENTS];  // somewhere in the home, so that others are to keep away
};

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
__device__ int killer_of(const Fight& fight, int who) {
  int killer = 0;
  while (fight.shot[killer] != who) ++killer;
  return killer;
}

// Gives those who died a place, one after the other: anywhere, or where their killer is.
__device__ void respawn(Fight& fight, const Rooms& home, bool together, float2* positions) {
  Random random = Random::env();
  for (int i = 0; i < NUM_AGENTS; ++i) fight.stands[i] = !fight.dies[i];
  for (int i = 0; i < NUM_AGENTS; ++i) {
    if (!fight.dies[i]) continue;
    const Rooms rooms = together ? room_at(home, positions[killer_of(fight, i)]) : home;
    put_apart(rooms, home, i, positions, fight.stands, random);
  }
}

// Begins a life of this agent where it has been put: at rest, looking anywhere.
__device__ Motion wake_up(const Motions& motions) {
  const int i = agent_index();
  motions.velocity[i] = make_float2(0.0f, 0.0f);
  motions.angles[i] = Random::agent().uniform(-180.0f, 180.0f);
  motions.angvelocity[i] = 0.0f;
  return motions.load(i);
}

extern "C" __global__ void act(float2* positions, float2* velocity, float* angles, float* angvelocity, float* health,
                               int* cooling, int* kills, int* deaths, float* potential, bool* in_sight, int* shot,
                               float2* shot_from, float2* shot_to, float* observations_imu, float* observations_health,
                               float* observations_cooldown, float* rewards, bool* agent_terminated, bool* terminated,
                               bool* truncated, const bool* together, const float* shaping, const int* actions,
                               const int* timestep, const int* plan, const float4* plan_walls,
                               const int* plan_first_wall, const int* plan_first_room, const int* room_first_cell,
                               const float2* plan_cells, float accel, float ang_accel, float decay, float fps,
                               float tan_half_fov, float damage, int cooldown, float fire_cone, float fire_range,
                               float kill_reward, int kills_to_win, float shaping_gamma, int episode_length) {
  if (!is_active()) return;
  ENV_SHARED(Fight, fights, 1);
  Fight& fight = fights[0];
  const int i = agent_index(), self = agent_id(), env = env_id();
  const int* action = actions + 3 * i;
  float2* places = positions + env * NUM_AGENTS;
  bool* sight = in_sight + i * NUM_AGENTS;
  const Walls walls = walls_of(plan[env], plan_walls, plan_first_wall);
  const Gun gun{fire_cone, fire_range};
  const Motions motions{positions, velocity, angles, angvelocity};
  Motion motion = motions.load(i);

  push(motion, push_by(action[0], action[1]), accel, ang_accel, decay, fps);
  walk(motion, walls, fps);
  motions.store(i, motion);
  sync_env();  // orders all places before anybody looks for others

  find_in_sight(walls, places, sight);
  const bool fires = action[2] == 1 && cooling[i] == 0;
  const int hit = fires ? hit_by(gun, motion, places, sight) : NO_SHOT;
  shot[i] = fight.shot[self] = hit;
  shot_from[i] = motion.position;
  shot_to[i] = hit >= 0 ? places[hit] : fires ? end_of_shot(gun, motion, walls) : motion.position;
  cooling[i] = fires ? cooldown - 1 : cooling[i] > 0 ? cooling[i] - 1 : 0;
  sync_env();  // orders all shots before hits are counted

  int hits = 0;
  for (int other = 0; other < NUM_AGENTS; ++other) hits += fight.shot[other] == self;
  health[i] -= damage * (float)hits;
  const bool dies = health[i] < 1e-3f;  // what sums of damages are off by
  fight.dies[self] = dies;
  sync_env();  // orders who dies before killers are paid

  const bool killed = hit >= 0 && fight.dies[hit >= 0 ? hit : 0];
  const float dealt = (hit >= 0 ? damage : 0.0f) + (killed ? kill_reward : 0.0f);
  const float taken = (float)hits * (damage + (dies ? kill_reward : 0.0f));
  kills[i] += killed;
  deaths[i] += dies;
  fight.wins[self] = kills_to_win > 0 && kills[i] >= kills_to_win;
  agent_terminated[i] = dies;
  const bool changes = any_of(fight.dies);
  if (changes && self == 0)
    respawn(fight, rooms_of(plan[env], plan_first_room, room_first_cell, plan_cells), together[env], places);
  sync_env();  // orders new places before anybody looks for others again, and who wins before that is asked

  if (dies) {
    motion = wake_up(motions);
    health[i] = 1.0f;
    cooling[i] = 0;
  }
  if (changes) find_in_sight(walls, places, sight);
  const bool over = any_of(fight.wins);
  const float now = potential_of(motion, places, sight, tan_half_fov);
  const float shaped = shaping_gamma * (dies || over ? 0.0f : now) - potential[i];
  rewards[i] = dealt - taken + shaping[0] * shaped;
  potential[i] = now;
  if (self == 0) {
    terminated[env] = over;
    truncated[env] = timestep[env] >= episode_length;
  }
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
  ENV_SHARED(Fight, fights, 1);
  Fight& fight = fights[0];
  const int i = agent_index(), self = agent_id(), env = env_id();
  float2* places = positions + env * NUM_AGENTS;
  bool* sight = in_sight + i * NUM_AGENTS;
  if (self == 0) {
    Random random = Random::env();
    plan[env] = (int)random.below((uint32_t)num_plans);
    together[env] = random.uniform() < near_spawn[0];
    const Rooms home = rooms_of(plan[env], plan_first_room, room_first_cell, plan_cells);
    const Rooms rooms = together[env] ? any_room(home, random) : home;
    for (int agent = 0; agent < NUM_AGENTS; ++agent) fight.stands[agent] = false;
    for (int agent = 0; agent < NUM_AGENTS; ++agent) put_apart(rooms, home, agent, places, fight.stands, random);
  }
  sync_env();  // orders the plan and all places before they are read
  const Motion motion = wake_up(Motions{positions, velocity, angles, angvelocity});
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
