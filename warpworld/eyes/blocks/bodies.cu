// Environments of bodies that are written in Python alone: agents that push, hold and lock bodies, and sense them. Rules:
// body_environment.py.
//
// Arrays: per env position, velocity, held and locked of all bodies, agents first; of the world shape, mass, drag, start,
// starts_held, team (agents,) and ray (rays,). A step is `push_bodies`, the rules, and `sense_bodies`; an episode begins
// with `place_bodies`.
#include <joints.cuh>
#include <lidar.cuh>

constexpr int MASK_SIZE = 3 + 3 + 2 + 3;  // choices: along x, along y, let go or hold, nothing, lock or unlock

__constant__ int BODIES;  // agents first
__constant__ int WALLS;

struct Store {
  float2 *position, *velocity;
  int *held, *locked;
  const float2* shape;
  const float *mass, *drag;
  const float4* walls;
  const int* team;
};

struct Rules {
  float width, height, push, reach, joint_length, joint_force, restitution, fps;
  int substeps;
};

__device__ Bodies bodies_of(const Store& store) {
  const int first = env_id() * BODIES;
  return Bodies{store.position + first, store.velocity + first, store.shape, store.mass, store.held + first,
                store.locked + first, BODIES};
}

__device__ Arena arena_of(const Store& store, const Rules& rules) {
  return Arena{make_float2(0.0f, 0.0f), make_float2(rules.width, rules.height), store.walls, WALLS};
}

// Lets an agent take, let go, lock or unlock the nearest body that is no agent.
__device__ void handle(const Bodies& all, const Store& store, const Rules& rules, int agent, const int* action) {
  const int body = nearest_in_reach(all, agent, rules.reach, NUM_AGENTS, BODIES), team = store.team[agent];
  if (action[2] == 0) let_go(all, agent);
  if (action[2] == 1) hold(all, agent, body);
  if (action[3] == 1) lock(all, agent, body, team);
  if (action[3] == 2) unlock(all, body, team);
}

extern "C" __global__ void push_bodies(Store store, Rules rules, const int* actions, const int* timestep, bool* truncated,
                                       int episode_length) {
  if (!is_active()) return;
  const int env = env_id();
  const Bodies all = bodies_of(store);
  const float seconds = 1.0f / rules.fps;
  for (int body = 0; body < BODIES; ++body) {
    float2 force = make_float2(0.0f, 0.0f);
    if (body < NUM_AGENTS) {
      const int* action = actions + 4 * (env * NUM_AGENTS + body);
      handle(all, store, rules, body, action);
      force = make_float2(rules.push * (float)(action[0] - 1), rules.push * (float)(action[1] - 1));
    }
    drive(all, body, force, store.drag[body], seconds);
  }
  const Motion motion{seconds, rules.substeps, rules.restitution};
  move_bodies(all, arena_of(store, rules), motion, Joints{rules.joint_length, rules.joint_force}, timestep[env]);
  truncated[env] = timestep[env] >= episode_length;
}

// Everything where it starts, each body up to `spread` metres off along both axes.
extern "C" __global__ void place_bodies(Store store, const float2* start, const int* starts_held, float spread) {
  if (!is_active()) return;
  const Bodies all = bodies_of(store);
  Random random = Random::env();
  for (int body = 0; body < BODIES; ++body) {
    const float x = random.uniform(-spread, spread), y = random.uniform(-spread, spread);
    all.position[body] = make_float2(start[body].x + x, start[body].y + y);
    all.velocity[body] = make_float2(0.0f, 0.0f);
    all.held[body] = starts_held[body];
    all.locked[body] = 0;
  }
}

__device__ void write_mask(const Bodies& all, const Store& store, const Rules& rules, int agent, bool* mask) {
  const int body = nearest_in_reach(all, agent, rules.reach, NUM_AGENTS, BODIES);
  for (int choice = 0; choice < MASK_SIZE; ++choice) mask[choice] = true;
  mask[7] = all.held[agent] != NOTHING || can_hold(all, agent, body);
  mask[9] = can_lock(all, agent, body);
  mask[10] = can_unlock(all, body, store.team[agent]);
}

extern "C" __global__ void sense_bodies(Store store, Rules rules, const float2* ray, float* observations,
                                        bool* action_mask) {
  if (!is_active()) return;
  using namespace plane;
  const Bodies all = bodies_of(store);
  const Arena arena = arena_of(store, rules);
  const float scale = 1.0f / larger(rules.width, rules.height);
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int i = env_id() * NUM_AGENTS + agent;
    float* next = observations + i * OBSERVATION_SIZE;
    const auto add = [&](float value) { *next++ = value; };
    const float2 here = all.position[agent];
    for (const float value : {scale * here.x, scale * here.y, all.velocity[agent].x, all.velocity[agent].y}) add(value);
    add(all.held[agent] != NOTHING ? 1.0f : 0.0f);
    for (int body = 0; body < BODIES; ++body) {
      if (body == agent) continue;
      const float2 off = all.position[body] - here, velocity = all.velocity[body];
      const int locked = all.locked[body];
      for (const float value : {scale * off.x, scale * off.y, velocity.x, velocity.y}) add(value);
      add(bodies::gap_between(all, agent, body) < rules.reach ? 1.0f : 0.0f);
      add(all.held[agent] == body ? 1.0f : 0.0f);
      add(locked == store.team[agent] ? 1.0f : 0.0f);
      add(locked != 0 && locked != store.team[agent] ? 1.0f : 0.0f);
    }
    for (int k = 0; k < LIDAR_RAYS; ++k) {
      const Echo echo = cast(all, arena, agent, ray[k]);
      add(1.0f - smaller(scale * echo.distance, 1.0f));
      add(echo.object != bodies::EDGE ? 1.0f : 0.0f);
    }
    write_mask(all, store, rules, agent, action_mask + i * MASK_SIZE);
  }
}
