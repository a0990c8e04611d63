// Hide and seek: hiders and seekers in an arena with a room or more, or none, and boxes and ramps that are pushed, dragged and
// locked. Rules: hide_and_seek.py.
//
// Arrays: those of Store, see hide_and_seek.cuh; in_sight (envs, agents, bodies); state (envs, STATE_SIZE) of the whole
// env; metrics per env, see Counts. A step is: `move` lets agents take, lock and push, and moves all bodies; `look` says
// who sees whom, and writes what agents observe; `score` pays, and ends episodes. `start` begins one, and `look` follows it.
//
// One lane of an env moves its bodies, see <bodies.cuh>, with as many lanes as agents, so that envs share warps on a GPU; the
// lanes share the looking.
#include "fields.cuh"
#include "hide_and_seek.cuh"
#include "scripts.cuh"
#include "shelter.cuh"
#include "views.cuh"

constexpr float SECONDS = 0.1f;    // of a step
constexpr int SUBSTEPS = 2;
constexpr float JOINT_LENGTH = 0.5f, JOINT_FORCE = 60.0f;  // beyond these a hold breaks: metres (reach is at most as long), newtons

// Of an episode.
struct Counts {
  float *hidden, *covered, *sealed, *sheltered, *doors_open, *box_moved, *ramp_used;
  int *num_locked, *ramps_locked, *locks, *seeker_locks, *seeker_unlocks, *holds_broken;
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
  float2 before[ALL_BOXES];
  for (int box = 0; box < ALL_BOXES; ++box) before[box] = all.position[NUM_AGENTS + box];
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    const int* action = actions + 4 * (env * NUM_AGENTS + agent);
    const bool acts = is_hider(agent) || time > rules.preparation;
    if (acts) handle(all, rules, counts, agent, action);
    const float push = acts ? rules.top_speed * store.drag[agent] * store.mass[agent] : 0.0f;  // newtons
    const float2 force = make_float2(push * (float)(action[0] - 1), push * (float)(action[1] - 1));
    drive(all, agent, force, store.drag[agent], SECONDS);
  }
  for (int thing = NUM_AGENTS; thing < BODIES; ++thing)
    drive(all, thing, make_float2(0.0f, 0.0f), store.drag[thing], SECONDS);
  const Motion motion{SECONDS, SUBSTEPS, 0.0f};
  const Joints joints{JOINT_LENGTH, JOINT_FORCE};
  counts.holds_broken[env] += move_bodies(all, arena_of(store, rules.side), motion, joints, time);
  for (int box = 0; box < ALL_BOXES; ++box)
    counts.box_moved[env] += plane::length(plane::operator-(all.position[NUM_AGENTS + box], before[box]));
}

// ---- looking ---------------------------------------------------------------------------------------------------------
extern "C" __global__ void look(Store store, Rules rules, Views views, const int* timestep) {
  if (!is_active()) return;
  const int env = env_id(), time = timestep[env];
  const Bodies all = bodies_of(store);
  Screens screens;
  find_screens(store, all, screens);
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int i = env * NUM_AGENTS + agent;
    for (int body = 0; body < BODIES; ++body) {
      const bool above = bodies::is_raised(all, agent) || bodies::is_raised(all, body);
      views.in_sight[i * BODIES + body] =
          body != agent && (above ? sees(store, all, rules.reach, agent, body)
                                  : sees_past(screens, store, rules, all, agent, body));
    }
    write_row(store, rules, views, all, agent, time);
    write_mask(rules, all, views.action_mask + i * MASK_SIZE, agent, time);
  }
  if (lane() == 0) write_state(store, rules, all, views.state, time);
}

// ---- score -----------------------------------------------------------------------------------------------------------
// What the preparation came to: how many hiders no seeker can walk to, how many doors no box covers, and whether hiders are
// shut in. In a room they are if all are inside and boxes are in all doors, elsewhere if all are sheltered.
__device__ void judge(const Store& store, const Rules& rules, const Counts& counts, const Bodies& all) {
  const int env = env_id(), sheltered = count_sheltered(store, all, rules.side, false);
  int shut = 0, locked = 0;
  bool all_inside = true;
  for (int hider = 0; hider < HIDER_COUNT; ++hider) all_inside &= is_inside(store.room[env], all.position[hider]);
  for (int door = 0; door < NUM_DOORS; ++door) {
    const int state = cover(all, store.door[env * DOOR_ROWS + door], axis_of_door(store, door), rules.door_width);
    shut += state > 0;
    locked += state == 2;
  }
  counts.sheltered[env] = (float)sheltered / (float)HIDER_COUNT;
  counts.doors_open[env] = (float)(NUM_DOORS - shut);
  const bool covered = ROOMS == 1 ? shut == NUM_DOORS && all_inside : sheltered == HIDER_COUNT;
  const bool sealed = ROOMS == 1 ? locked == NUM_DOORS && all_inside
                                 : covered && count_sheltered(store, all, rules.side, true) == HIDER_COUNT;
  counts.covered[env] = covered ? 1.0f : 0.0f;
  counts.sealed[env] = sealed ? 1.0f : 0.0f;
}

// Things first .. end - 1 that hiders have locked.
__device__ int count_locked(const Bodies& all, int first, int end) {
  int locked = 0;
  for (int thing = first; thing < end; ++thing) locked += all.locked[thing] == BY_HIDERS;
  return locked;
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
  for (int seeker = SEEKER_FIRST; counted && seeker < NUM_AGENTS; ++seeker)
    if (bodies::is_raised(all, seeker)) counts.ramp_used[env] = 1.0f;
  counts.num_locked[env] = count_locked(all, NUM_AGENTS, FIRST_RAMP);
  counts.ramps_locked[env] = count_locked(all, FIRST_RAMP, BODIES);
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
  counts.sheltered[env] = counts.ramp_used[env] = 0.0f;
  counts.doors_open[env] = (float)NUM_DOORS;
  counts.num_locked[env] = counts.ramps_locked[env] = counts.locks[env] = counts.seeker_locks[env] = 0;
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
