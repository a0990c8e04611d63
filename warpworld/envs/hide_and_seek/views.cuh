// What agents of hide and seek observe, which actions have an effect, and the state that critics may read.
#pragma once

#include <lidar.cuh>

#include "hide_and_seek.cuh"

constexpr int STATE_SIZE = (RAMPS > 0 ? 6 : 5) * NUM_AGENTS + 6 * THINGS + 2 * RAMPS + 2 * NUM_DOORS +
                           (ROOMS > 1 ? 4 * WALLS : 0) + 2;

// What agents get to know.
struct Views {
  float* observations;
  bool* action_mask;
  float* state;
  bool* in_sight;
  const float2* rays;  // directions of the lidar
};

// Where a ramp leads up, of length 1; 0 for what is no ramp. See uphill_along() in <bodies.cuh>.
__device__ float2 direction_of(int uphill) {
  const float x = uphill == 2 ? 1.0f : uphill == 1 ? -1.0f : 0.0f, y = uphill == 4 ? 1.0f : uphill == 3 ? -1.0f : 0.0f;
  return make_float2(x, y);
}

// Numbers that are written one after the other.
struct Row {
  float* next;
  __device__ void add(float value) { *next++ = value; }
  __device__ void add(float2 values, float scale) {
    add(scale * values.x);
    add(scale * values.y);
  }
};

// What the lidar of an agent measures: along each ray how near something is, and whether it is a box or a ramp, an agent of its
// own side, or one of the other side.
__device__ void write_echoes(const Store& store, const Rules& rules, const Views& views, const Bodies& all, int agent,
                             Row& row) {
  const Arena arena = arena_of(store, rules.side);
  const auto over = [&](const plane::Rectangle& at) { return looks_over(all, rules.reach, agent, at); };
  cast_all(all, arena, agent, views.rays, LIDAR_RAYS, over, [&](int, const Echo& echo) {
    const bool is_agent = echo.object >= 0 && echo.object < NUM_AGENTS;
    row.add(1.0f - plane::smaller(echo.distance / rules.side, 1.0f));
    row.add((float)(echo.object >= NUM_AGENTS));
    row.add((float)(is_agent && team_of(echo.object) == team_of(agent)));
    row.add((float)(is_agent && team_of(echo.object) != team_of(agent)));
  });
}

// What an agent observes of the other agents, its own side first, and of boxes and ramps. What it does not see is 0, and so
// is the flag before it.
__device__ void write_entities(const Rules& rules, const Bodies& all, const int* uphill, const bool* in_sight, int agent,
                               Row& row) {
  using namespace plane;
  const float scale = 1.0f / rules.side, per_speed = 1.0f / rules.top_speed;
  const float2 here = all.position[agent];
  const int team = team_of(agent);
  for (int turn = 0; turn < NUM_AGENTS; ++turn) {
    const int other = is_hider(agent) ? turn : (turn + HIDER_COUNT) % NUM_AGENTS;
    if (other == agent) continue;
    const float visible = in_sight[other] ? 1.0f : 0.0f;
    row.add(visible);
    row.add(all.position[other] - here, visible * scale);
    row.add(all.velocity[other], visible * per_speed);
    if (RAMPS > 0) row.add((float)(in_sight[other] && bodies::is_raised(all, other)));
  }
  for (int thing = NUM_AGENTS; thing < BODIES; ++thing) {
    const bool visible = in_sight[thing];
    const int locked = all.locked[thing], holder = holder_of(all, thing);
    row.add((float)visible);
    row.add(all.position[thing] - here, visible ? scale : 0.0f);
    row.add((float)(visible && bodies::gap_between(all, agent, thing) < rules.reach));
    row.add((float)(visible && locked == team));
    row.add((float)(visible && locked != team && locked != 0));
    row.add((float)(holder == agent));
    row.add((float)(visible && holder != agent && holder != NOTHING));
    if (MIXED) row.add(all.shape[thing], visible ? 1.0f : 0.0f);
    if (MIXED) row.add(visible ? direction_of(uphill[thing]) : make_float2(0.0f, 0.0f), 1.0f);
  }
}

// What an agent observes: itself, others, the doors, the middle of a room that may be
// anywhere, and what its lidar measures.
__device__ void write_row(const Store& store, const Rules& rules, const Views& views, const Bodies& all, int agent,
                          int time) {
  using namespace plane;
  const int i = env_id() * NUM_AGENTS + agent;
  const bool* in_sight = views.in_sight + i * BODIES;
  const float scale = 1.0f / rules.side;
  const float2 here = all.position[agent];
  const bool is_seen = is_hider(agent) ? sees_any(in_sight, SEEKER_FIRST, SEEKER_COUNT) : sees_any(in_sight, 0, HIDER_COUNT);
  Row row{views.observations + i * OBSERVATION_SIZE};
  row.add(make_float2(2.0f * here.x - rules.side, 2.0f * here.y - rules.side), scale);
  row.add(all.velocity[agent], 1.0f / rules.top_speed);
  row.add((float)(all.held[agent] != NOTHING));
  row.add((float)max(rules.preparation - time, 0) / (float)max(rules.preparation, 1));
  row.add((float)time / (float)rules.episode_length);
  row.add((float)is_seen);
  if (RAMPS > 0) row.add((float)bodies::is_raised(all, agent));
  if (LISTS_ENTITIES) write_entities(rules, all, store.uphill + env_id() * BODIES, in_sight, agent, row);
  for (int door = 0; door < NUM_DOORS; ++door) row.add(store.door[env_id() * DOOR_ROWS + door] - here, scale);
  const float4 room = store.room[env_id()];
  if (RANDOM_ROOMS) row.add(make_float2(room.x - here.x, room.y - here.y), scale);
  write_echoes(store, rules, views, all, agent, row);
}

// Allows what can have an effect: in the preparation seekers do nothing.
__device__ void write_mask(const Rules& rules, const Bodies& all, bool* mask, int agent, int time) {
  const bool acts = is_hider(agent) || time >= rules.preparation;
  const int box = nearest_in_reach(all, agent, rules.reach, NUM_AGENTS, BODIES);
  for (int choice = 0; choice < 6; ++choice) mask[choice] = acts || choice % 3 == 1;
  mask[6] = mask[8] = true;
  mask[7] = acts && (all.held[agent] != NOTHING || can_hold(all, agent, box));
  mask[9] = acts && (is_hider(agent) || rules.seekers_lock) && can_lock(all, agent, box);
  mask[10] = acts && can_unlock(all, box, team_of(agent));
}

// What critics may read: all bodies, also those that no agent sees.
__device__ void write_state(const Store& store, const Rules& rules, const Bodies& all, float* state, int time) {
  const float scale = 1.0f / rules.side, per_speed = 1.0f / rules.top_speed;
  Row row{state + env_id() * STATE_SIZE};
  for (int body = 0; body < BODIES; ++body) {
    row.add(all.position[body], scale);
    row.add(all.velocity[body], per_speed);
    if (body < NUM_AGENTS) {
      row.add((float)(all.held[body] != NOTHING));
      if (RAMPS > 0) row.add((float)bodies::is_raised(all, body));
    } else {
      row.add((float)(all.locked[body] == BY_HIDERS));
      row.add((float)(all.locked[body] == BY_SEEKERS));
    }
  }
  for (int ramp = FIRST_RAMP; ramp < BODIES; ++ramp) row.add(direction_of(all.uphill[ramp]), 1.0f);
  for (int door = 0; door < NUM_DOORS; ++door) row.add(store.door[env_id() * DOOR_ROWS + door], scale);
  for (int w = 0; ROOMS > 1 && w < WALLS; ++w) {
    const plane::Rectangle wall = plane::rectangle(store.wall[env_id() * WALLS + w]);
    row.add(wall.centre, scale);
    row.add(wall.half, scale);
  }
  row.add((float)max(rules.preparation - time, 0) / (float)max(rules.preparation, 1));
  row.add((float)time / (float)rules.episode_length);
}

