// Hide and seek: hiders and seekers in an arena with a room, and boxes that are pushed, dragged and locked. Rules:
// hide_and_seek.py.
//
// Arrays: those of Store, see hide_and_seek.cuh; in_sight (envs, agents, bodies); state (envs, STATE_SIZE) of the whole
// env; metrics per env, see Counts. A step is: `move` lets agents take, lock and push, and moves all bodies; `look` says
// who sees whom, and writes what agents observe; `score` pays, and ends episodes. `start` begins one, and `look` follows it.
//
// One lane of an env moves its bodies, see <bodies.cuh>, with as many lanes as agents, so that envs share warps on a GPU; the
// lanes share the looking.
#include <lidar.cuh>

#include "hide_and_seek.cuh"
#include "rooms.cuh"
#include "scripts.cuh"

constexpr float SECONDS = 0.1f;    // of a step
constexpr int SUBSTEPS = 2;
constexpr float JOINT_LENGTH = 0.5f, JOINT_FORCE = 60.0f;  // beyond these a hold breaks: metres (reach is at most as long), newtons

// Of an episode.
struct Counts {
  float *hidden, *covered, *sealed, *doors_open, *box_moved;
  int *num_locked, *locks, *seeker_locks, *seeker_unlocks, *holds_broken;
};

// What agents get to know.
struct Views {
  float* observations;
  bool* action_mask;
  float* state;
  bool* in_sight;
  const float2* rays;  // directions of the lidar
};

// ---- motion ----------------------------------------------------------------------------------------------------------
// Lets an agent take, let go, lock or unlock the nearest box.
__device__ void handle(const Bodies& all, const Rules& rules, const Counts& counts, int agent, const int* action) {
  const int env = env_id(), team = team_of(agent);
  const int box = nearest_in_reach(all, agent, rules.reach, NUM_AGENTS, BODIES);
  if (action[2] == 0) let_go(all, agent);
  if (action[2] == 1) hold(all, agent, box);
  if (action[3] == 1 && (is_hider(agent) || rules.seekers_lock) && lock(all, agent, box, team)) {
    counts.locks[env] += 1;
    counts.seeker_locks[env] += !is_hider(agent);
  } else if (action[3] == 2 && unlock(all, box, team)) {
    counts.seeker_unlocks[env] += !is_hider(agent);
  }
}

extern "C" __global__ void move(Store store, Rules rules, Counts counts, const int* actions, const int* timestep) {
  if (!is_active() || lane() != 0) return;
  const int env = env_id(), time = timestep[env];
  const Bodies all = bodies_of(store);
  float2 before[BOXES];
  for (int box = 0; box < BOXES; ++box) before[box] = all.position[NUM_AGENTS + box];
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    const int* action = actions + 4 * (env * NUM_AGENTS + agent);
    const bool acts = is_hider(agent) || time > rules.preparation;
    if (acts) handle(all, rules, counts, agent, action);
    const float push = acts ? rules.top_speed * store.drag[agent] * store.mass[agent] : 0.0f;  // newtons
    const float2 force = make_float2(push * (float)(action[0] - 1), push * (float)(action[1] - 1));
    drive(all, agent, force, store.drag[agent], SECONDS);
  }
  for (int box = NUM_AGENTS; box < BODIES; ++box) drive(all, box, make_float2(0.0f, 0.0f), store.drag[box], SECONDS);
  const Motion motion{SECONDS, SUBSTEPS, 0.0f};
  const Joints joints{JOINT_LENGTH, JOINT_FORCE};
  counts.holds_broken[env] += move_bodies(all, arena_of(store, rules.side), motion, joints, time);
  for (int box = 0; box < BOXES; ++box)
    counts.box_moved[env] += plane::length(plane::operator-(all.position[NUM_AGENTS + box], before[box]));
}

// ---- looking ---------------------------------------------------------------------------------------------------------
// Numbers that are written one after the other.
struct Row {
  float* next;
  __device__ void add(float value) { *next++ = value; }
  __device__ void add(float2 values, float scale) {
    add(scale * values.x);
    add(scale * values.y);
  }
};

// What the lidar of an agent measures: along each ray how near something is, and whether it is a box, an agent of its own
// side, or one of the other side.
__device__ void write_echoes(const Store& store, const Rules& rules, const Views& views, const Bodies& all, int agent,
                             Row& row) {
  const Arena arena = arena_of(store, rules.side);
  for (int ray = 0; ray < LIDAR_RAYS; ++ray) {
    const Echo echo = cast(all, arena, agent, views.rays[ray]);
    const bool is_agent = echo.object >= 0 && echo.object < NUM_AGENTS;
    row.add(1.0f - plane::smaller(echo.distance / rules.side, 1.0f));
    row.add((float)(echo.object >= NUM_AGENTS));
    row.add((float)(is_agent && team_of(echo.object) == team_of(agent)));
    row.add((float)(is_agent && team_of(echo.object) != team_of(agent)));
  }
}

// What an agent observes of the other agents, its own side first, and of the boxes. What it does not see is 0, and so is
// the flag before it.
__device__ void write_entities(const Rules& rules, const Bodies& all, const bool* in_sight, int agent, Row& row) {
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
  }
  for (int box = NUM_AGENTS; box < BODIES; ++box) {
    const bool visible = in_sight[box];
    const int locked = all.locked[box], holder = holder_of(all, box);
    row.add((float)visible);
    row.add(all.position[box] - here, visible ? scale : 0.0f);
    row.add((float)(visible && bodies::gap_between(all, agent, box) < rules.reach));
    row.add((float)(visible && locked == team));
    row.add((float)(visible && locked != team && locked != 0));
    row.add((float)(holder == agent));
    row.add((float)(visible && holder != agent && holder != NOTHING));
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
  if (LISTS_ENTITIES) write_entities(rules, all, in_sight, agent, row);
  for (int door = 0; door < DOORS; ++door) row.add(store.door[env_id() * DOORS + door] - here, scale);
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
    } else {
      row.add((float)(all.locked[body] == BY_HIDERS));
      row.add((float)(all.locked[body] == BY_SEEKERS));
    }
  }
  for (int door = 0; door < DOORS; ++door) row.add(store.door[env_id() * DOORS + door], scale);
  row.add((float)max(rules.preparation - time, 0) / (float)max(rules.preparation, 1));
  row.add((float)time / (float)rules.episode_length);
}

extern "C" __global__ void look(Store store, Rules rules, Views views, const int* timestep) {
  if (!is_active()) return;
  const int env = env_id(), time = timestep[env];
  const Bodies all = bodies_of(store);
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int i = env * NUM_AGENTS + agent;
    for (int body = 0; body < BODIES; ++body)
      views.in_sight[i * BODIES + body] = body != agent && sees(store, all, agent, body);
    write_row(store, rules, views, all, agent, time);
    write_mask(rules, all, views.action_mask + i * MASK_SIZE, agent, time);
  }
  if (lane() == 0) write_state(store, rules, all, views.state, time);
}

// ---- score -----------------------------------------------------------------------------------------------------------
// What the preparation came to: with all hiders in the room, whether boxes are in all doors, and locked.
__device__ void judge(const Store& store, const Rules& rules, const Counts& counts, const Bodies& all) {
  const int env = env_id();
  int shut = 0, locked = 0;
  bool all_inside = true;
  for (int hider = 0; hider < HIDER_COUNT; ++hider) all_inside &= is_inside(store.room[env], all.position[hider]);
  for (int door = 0; door < DOORS; ++door) {
    const int state = cover(all, store.door[env * DOORS + door], 1 - door, rules.door_width);
    shut += state > 0;
    locked += state == 2;
  }
  counts.covered[env] = shut == DOORS && all_inside ? 1.0f : 0.0f;
  counts.sealed[env] = locked == DOORS && all_inside ? 1.0f : 0.0f;
  counts.doors_open[env] = (float)(DOORS - shut);
}

extern "C" __global__ void score(Store store, Rules rules, Counts counts, const bool* in_sight, float* rewards,
                                 bool* agent_mask, bool* truncated, const int* timestep) {
  if (!is_active()) return;
  const int env = env_id(), first = env * NUM_AGENTS, time = timestep[env];
  const Bodies all = bodies_of(store);
  const bool counted = time > rules.preparation;
  bool any_seen = false;
  for (int seeker = SEEKER_FIRST; seeker < NUM_AGENTS; ++seeker)
    any_seen |= sees_any(in_sight + (first + seeker) * BODIES, 0, HIDER_COUNT);
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    rewards[first + agent] = !counted ? 0.0f : is_hider(agent) != any_seen ? 1.0f : -1.0f;
    agent_mask[first + agent] = is_hider(agent) || counted;
  }
  if (counted && !any_seen) counts.hidden[env] += 1.0f / (float)(rules.episode_length - rules.preparation);
  if (time == rules.preparation) judge(store, rules, counts, all);
  int locked = 0;
  for (int box = NUM_AGENTS; box < BODIES; ++box) locked += all.locked[box] == BY_HIDERS;
  counts.num_locked[env] = locked;
  truncated[env] = time >= rules.episode_length;
}

// ---- a new episode ---------------------------------------------------------------------------------------------------
extern "C" __global__ void start(Store store, Rules rules, Starts starts, Counts counts) {
  if (!is_active() || lane() != 0) return;
  const int env = env_id();
  lay_out(store, rules, starts);
  for (int i = env * BODIES; i < (env + 1) * BODIES; ++i) {
    store.velocity[i] = make_float2(0.0f, 0.0f);
    store.held[i] = NOTHING;
    store.locked[i] = 0;
  }
  counts.hidden[env] = counts.covered[env] = counts.sealed[env] = counts.box_moved[env] = 0.0f;
  counts.doors_open[env] = (float)DOORS;
  counts.num_locked[env] = counts.locks[env] = counts.seeker_locks[env] = 0;
  counts.seeker_unlocks[env] = counts.holds_broken[env] = 0;
}

// ---- scripts ---------------------------------------------------------------------------------------------------------
//
// A seeker that runs after the nearest hider in sight; while there is none, it goes from door to door.
extern "C" __global__ void search(Played played, Store store, const bool* in_sight, const int* timestep, float side) {
  if (!plays(played, agent_id())) return;
  const Bodies all = bodies_of(store);
  const int agent = agent_id();
  const int hider = nearest_in_sight(all, in_sight + agent_index() * BODIES, agent, 0, HIDER_COUNT);
  const float2 to = hider != NOTHING ? all.position[hider] : place_to_search(store, all, side, agent, timestep[env_id()]);
  const float2 here = all.position[agent];
  walk(outputs_of(played, agent), step_towards(to.x - here.x), step_towards(to.y - here.y));
}

// A hider that runs from the nearest seeker in sight, wherever there is room; while there is none, it stays.
extern "C" __global__ void flee(Played played, Store store, const bool* in_sight, float side) {
  if (!plays(played, agent_id())) return;
  using namespace plane;
  const Bodies all = bodies_of(store);
  const int agent = agent_id();
  const int seeker = nearest_in_sight(all, in_sight + agent_index() * BODIES, agent, SEEKER_FIRST, SEEKER_COUNT);
  int best_x = 0, best_y = 0;
  float farthest = seeker == NOTHING ? INFINITY : length(all.position[agent] - all.position[seeker]);
  for (int choice = 0; choice < 9; ++choice) {
    const int x = choice % 3 - 1, y = choice / 3 - 1;
    const float2 place = all.position[agent] + LOOK_AHEAD * make_float2((float)x, (float)y);
    const float away = seeker == NOTHING ? 0.0f : length(place - all.position[seeker]);
    if (!(away > farthest) || !is_free(store, all, side, agent, place)) continue;
    farthest = away;
    best_x = x;
    best_y = y;
  }
  walk(outputs_of(played, agent), best_x, best_y);
}
