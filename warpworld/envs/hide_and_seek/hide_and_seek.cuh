// What the kernels of hide and seek share: the arrays of an env, who sees whom, and whether doors are shut.
#pragma once

#include <joints.cuh>

// Bodies are agents, square boxes, long boxes and ramps, in this order. All but agents are things.
constexpr int ALL_BOXES = BOXES + LONG_BOXES, THINGS = ALL_BOXES + RAMPS;
constexpr int BODIES = NUM_AGENTS + THINGS, FIRST_RAMP = NUM_AGENTS + ALL_BOXES;
constexpr int NUM_DOORS = ROOMS == 0 ? 0 : ROOMS == 1 ? DOORS : ROOMS - 1;
constexpr int WALLS = ROOMS == 0 ? 1 : ROOMS == 1 ? 4 : 2 * NUM_DOORS;  // pieces of inner walls; in the open one of size 0
constexpr int DOOR_ROWS = NUM_DOORS > 0 ? NUM_DOORS : 1;                // of the array door
constexpr bool MIXED = LONG_BOXES > 0 || RAMPS > 0;                     // things of several kinds
constexpr int MASK_SIZE = 3 + 3 + 2 + 3;  // choices: along x, along y, let go or hold, nothing, lock or unlock
constexpr float HALF_WALL = 0.05f;        // metres
constexpr float FAR_AWAY = 1e6f;          // metres, where no line of sight gets
constexpr float NEARLY = 4e-6f;           // of the arena's side: more than the rounding of a line of sight
enum { BY_HIDERS = 1, BY_SEEKERS = 2 };   // teams that lock boxes and ramps

// Per env: of all bodies position, velocity, held, locked, level and uphill, see <bodies.cuh>; wall, the middle and half the
// size of each; door, the middle of each; room, its middle and half its size. Of the world: shape, mass and drag of each
// body.
struct Store {
  float2 *position, *velocity;
  int *held, *locked, *level, *uphill;
  float4* wall;
  float2* door;
  float4* room;
  const float2* shape;
  const float *mass, *drag;
};

struct Rules {
  int episode_length, preparation;
  float side, top_speed, reach, door_width;
  bool seekers_lock;
};

__device__ bool is_hider(int agent) { return agent < HIDER_COUNT; }
__device__ int team_of(int agent) { return is_hider(agent) ? BY_HIDERS : BY_SEEKERS; }

__device__ Bodies bodies_of(const Store& store) {
  const int first = env_id() * BODIES;
  Bodies all{store.position + first, store.velocity + first, store.shape, store.mass, store.held + first,
             store.locked + first, BODIES};
  if (RAMPS > 0) {
    all.climbers = NUM_AGENTS;
    all.level = store.level + first;
    all.uphill = store.uphill + first;
  }
  return all;
}

__device__ Arena arena_of(const Store& store, float side) {
  return Arena{make_float2(0.0f, 0.0f), make_float2(side, side), store.wall + env_id() * WALLS, WALLS};
}

// ---- sight -----------------------------------------------------------------------------------------------------------
// Whether an agent on level 1 is beside or above a wall or a box, over which it sees and is seen.
__device__ bool looks_over(const Bodies& all, float reach, int agent, const plane::Rectangle& at) {
  return bodies::is_raised(all, agent) && bodies::gap_to_rectangle(all, agent, at) < reach;
}

// Whether no wall, box or ramp is between the middle of an agent and that of another body.
__device__ bool sees(const Store& store, const Bodies& all, float reach, int agent, int body) {
  using namespace plane;
  const Segment line{all.position[agent], all.position[body]};
  const auto hides = [&](const Rectangle& at) {
    return cuts(at, line) && !looks_over(all, reach, agent, at) && !looks_over(all, reach, body, at);
  };
  for (int w = 0; w < WALLS; ++w)
    if (hides(rectangle(store.wall[env_id() * WALLS + w]))) return false;
  for (int thing = NUM_AGENTS; thing < BODIES; ++thing)
    if (thing != body && hides(Rectangle{all.position[thing], all.shape[thing]})) return false;
  return true;
}

// The rectangles that hide, walls before things, side by side so that a CPU tests several at once. Empty places are far off.
struct Screens {
  static constexpr int COUNT = WALLS + THINGS, PLACES = (COUNT + 7) / 8 * 8;
  float x[PLACES], y[PLACES], half_x[PLACES], half_y[PLACES];
};

__device__ void find_screens(const Store& store, const Bodies& all, Screens& screens) {
  for (int i = 0; i < Screens::PLACES; ++i) {
    screens.x[i] = screens.y[i] = -FAR_AWAY;
    screens.half_x[i] = screens.half_y[i] = 0.0f;
  }
  for (int i = 0; i < Screens::COUNT; ++i) {
    const int thing = NUM_AGENTS + i - WALLS;
    const plane::Rectangle at = i < WALLS ? plane::rectangle(store.wall[env_id() * WALLS + i])
                                          : plane::Rectangle{all.position[thing], all.shape[thing]};
    screens.x[i] = at.centre.x;
    screens.y[i] = at.centre.y;
    screens.half_x[i] = at.half.x;
    screens.half_y[i] = at.half.y;
  }
}

// The same as sees(), for an agent and a body on level 0, without a division: by axes that separate a line from a rectangle
// (Gottschalk et al. 1996). Where rounding might decide, sees() does.
__device__ bool sees_past(const Screens& screens, const Store& store, const Rules& rules, const Bodies& all, int agent,
                          int body) {
  using namespace plane;
  const float2 from = all.position[agent], way = all.position[body] - from, middle = from + 0.5f * way;
  const float wide = fabsf(way.x), high = fabsf(way.y);
  const float near = NEARLY * rules.side, near_area = near * rules.side;  // square metres
  const int self = body < NUM_AGENTS ? NOTHING : WALLS + body - NUM_AGENTS;  // that of the body itself
  int found = 0;  // 1: a screen that may hide, 2: one that surely does
  for (int i = 0; i < Screens::PLACES; ++i) {
    const float x = screens.half_x[i] + 0.5f * wide - fabsf(screens.x[i] - middle.x);
    const float y = screens.half_y[i] + 0.5f * high - fabsf(screens.y[i] - middle.y);
    const float off = way.x * (screens.y[i] - middle.y) - way.y * (screens.x[i] - middle.x);
    const float across = screens.half_x[i] * high + screens.half_y[i] * wide - fabsf(off);
    const int may = (x > -near) & (y > -near) & (across > -near_area) & (i != self);
    const int surely = (x > near) & (y > near) & (across > near_area);
    found |= may << surely;
  }
  return found == 1 ? sees(store, all, rules.reach, agent, body) : found == 0;
}

// Whether an agent of the one side has one of the other in sight. in_sight: (bodies,) of the agent.
__device__ bool sees_any(const bool* in_sight, int first, int count) {
  bool any = false;
  for (int other = first; other < first + count; ++other) any |= in_sight[other];
  return any;
}

// ---- doors -----------------------------------------------------------------------------------------------------------
__device__ bool is_inside(const float4& room, float2 place) {
  return fabsf(place.x - room.x) < room.z && fabsf(place.y - room.y) < room.w;
}

// Along which axis a door's wall runs, of which there is a piece on each of its sides.
__device__ int axis_of_door(const Store& store, int door) {
  const float4* pieces = store.wall + env_id() * WALLS + 2 * door;
  return pieces[0].x == pieces[1].x ? 1 : 0;
}

// Whether one box leaves no way for an agent through a door: 0 no, 1 yes, 2 and hiders have locked it. axis: along which
// the door's wall runs.
__device__ int cover(const Bodies& all, float2 door, int axis, float door_width) {
  using bodies::along;
  const float agent = 2.0f * all.shape[0].x;
  int best = 0;
  for (int box = NUM_AGENTS; box < FIRST_RAMP; ++box) {
    const float2 off = plane::operator-(all.position[box], door), half = all.shape[box];
    const float before = fabsf(along(off, 1 - axis)) - along(half, 1 - axis) - HALF_WALL;  // between box and wall
    const float beside = 0.5f * door_width + fabsf(along(off, axis)) - along(half, axis);  // of the door, where it is wider
    if (before < agent && beside < agent) best = max(best, all.locked[box] == BY_HIDERS ? 2 : 1);
  }
  return best;
}
