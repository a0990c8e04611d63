// The units of a skirmish, the positions that its threads share, and what each unit sees and may do.
#pragma once

#include <warpworld.cuh>

constexpr int NUM_KINDS = 6;
enum Choice { NORTH, EAST, SOUTH, WEST, STOP, ATTACK };  // an attack on the k-th opponent is ATTACK + k
constexpr int MOST_OPPONENTS = ALLY_COUNT > ENEMY_COUNT ? ALLY_COUNT : ENEMY_COUNT;
constexpr int NUM_CHOICES = ATTACK + MOST_OPPONENTS;  // flags of a mask
constexpr int OTHER = 7 + NUM_KINDS, OWN = 4 + NUM_KINDS, ROW = OTHER * (NUM_AGENTS - 1) + OWN;  // numbers of a view

// Where lanes take turns, units that lie side by side are vectors.
constexpr int VECTOR = LANES_SIDE_BY_SIDE ? 1 : 32;  // bits of an int
constexpr int PADDED = (NUM_AGENTS + VECTOR - 1) / VECTOR * VECTOR;
constexpr float FAR = 1e9f;  // where those are who are in nobody's way

// Of each kind, from scenarios.py.
__constant__ float SPEED[NUM_KINDS], REACH[NUM_KINDS], SIGHT[NUM_KINDS], RADIUS[NUM_KINDS];
__constant__ float MOST_HEALTH[NUM_KINDS], RELOAD[NUM_KINDS];
__constant__ int DAMAGE[NUM_KINDS];

// The arrays that hold units; health is 0 of the dead.
struct Units {
  float *x, *y, *health, *cooldown;
  int *kind, *last_action;
};

// What is left of a unit for others to see: fractions of its health and of its reload, and what it did.
struct Shown {
  float health, cooldown, move_x, move_y, target;
  int kind;
};

// Of all units of an env, while a step advances: where they have moved before they are pushed apart, how far they walk
// in a tick, and whom they shoot at.
struct Moving {
  float x[PADDED], y[PADDED], radius[PADDED];
  float way_x[NUM_AGENTS], way_y[NUM_AGENTS];
  float health[NUM_AGENTS], cooldown[NUM_AGENTS];
  int target[NUM_AGENTS], damage[NUM_AGENTS];
};

struct Field {
  float x[NUM_AGENTS], y[NUM_AGENTS];
  float reward[2];
  union {  // what is shown takes the place of what moved
    Moving moving;
    Shown shown[NUM_AGENTS];
  };
};

struct Seen {
  float *observations_ally, *observations_enemy;
  bool* action_mask;
  int map_width, map_height;
};

__device__ bool is_ally(int unit) { return unit < ALLY_COUNT; }
__device__ int first_unit() { return env_id() * NUM_AGENTS; }
// Each side counts its opponents from the one that the other side counts last, or first: both see a mirrored world.
__device__ int opponent(int unit, int k) { return is_ally(unit) ? ALLY_COUNT + k : ALLY_COUNT - 1 - k; }
__device__ int num_opponents(int unit) { return is_ally(unit) ? ENEMY_COUNT : ALLY_COUNT; }
__device__ int towards_x(int choice) { return (choice == EAST) - (choice == WEST); }
__device__ int towards_y(int choice) { return (choice == NORTH) - (choice == SOUTH); }

__device__ float distance(const Field& field, int a, int b) {
  const float dx = field.x[a] - field.x[b], dy = field.y[a] - field.y[b];
  return sqrtf(dx * dx + dy * dy);
}

__device__ float part(float value, float most) { return fminf(fmaxf(value / most, 0.0f), 1.0f); }

__device__ Shown shown(const Units& units, int unit) {
  const int i = first_unit() + unit, kind = units.kind[i], last = units.last_action[i];
  return Shown{units.health[i] / MOST_HEALTH[kind], part(units.cooldown[i], RELOAD[kind]), (float)towards_x(last),
               (float)towards_y(last),
               last >= ATTACK ? (float)last / (float)(ATTACK - 1 + num_opponents(unit)) : 0.0f, kind};
}

// Writes the 13 numbers about another unit.
__device__ void show(const Shown& other, float dx, float dy, bool acts, float* to) {
  to[0] = other.health;
  to[1] = dx;
  to[2] = dy;
  to[3] = acts ? other.move_x : 0.0f;
  to[4] = acts ? other.move_y : 0.0f;
  to[5] = acts ? other.target : 0.0f;
  to[6] = other.cooldown;
  for (int kind = 0; kind < NUM_KINDS; ++kind) to[7 + kind] = kind == other.kind ? 1.0f : 0.0f;
}

// Writes what a living unit sees of the others, friends first.
__device__ void see(const Field& field, int unit, float* to) {
  const float x = field.x[unit], y = field.y[unit], sight = SIGHT[field.shown[unit].kind];
  const int first = is_ally(unit) ? 0 : NUM_AGENTS - 1, next = is_ally(unit) ? 1 : -1;
  for (int k = 0, other = first; k < NUM_AGENTS; ++k, other += next) {
    if (other == unit) continue;
    const Shown& them = field.shown[other];
    if (them.health > 0.0f && distance(field, unit, other) < sight)
      show(them, (field.x[other] - x) / sight, (field.y[other] - y) / sight,
           SEE_ENEMY_ACTIONS || is_ally(other) == is_ally(unit), to);
    else
      for (int entry = 0; entry < OTHER; ++entry) to[entry] = 0.0f;
    to += OTHER;
  }
}

// Writes a unit's view and mask; the dead see nothing and can only stop.
__device__ void look(const Field& field, const Seen& seen, int unit) {
  const Shown& own = field.shown[unit];
  const bool lives = own.health > 0.0f;
  const size_t place = is_ally(unit) ? (size_t)env_id() * ALLY_COUNT + unit : (size_t)env_id() * ENEMY_COUNT + unit - ALLY_COUNT;
  float* row = (is_ally(unit) ? seen.observations_ally : seen.observations_enemy) + place * ROW;
  bool* mask = seen.action_mask + (size_t)(first_unit() + unit) * NUM_CHOICES;
  for (int choice = 0; choice < STOP; ++choice) mask[choice] = lives;
  mask[STOP] = true;
  for (int k = 0; k < MOST_OPPONENTS; ++k) {
    const int other = k < num_opponents(unit) ? opponent(unit, k) : unit;
    mask[ATTACK + k] = lives && other != unit && field.shown[other].health > 0.0f &&
                       distance(field, unit, other) < REACH[own.kind];
  }
  if (!lives) {
    for (int entry = 0; entry < ROW; ++entry) row[entry] = 0.0f;
    return;
  }
  see(field, unit, row);
  row += ROW - OWN;
  row[0] = own.health;
  row[1] = field.x[unit] / (float)seen.map_width;
  row[2] = field.y[unit] / (float)seen.map_height;
  row[3] = own.cooldown;
  for (int kind = 0; kind < NUM_KINDS; ++kind) row[4 + kind] = kind == own.kind ? 1.0f : 0.0f;
}
