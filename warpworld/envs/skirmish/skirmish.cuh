// The units of a skirmish, the positions that its threads share, and what each unit sees and may do.
#pragma once

#include <warpworld.cuh>

constexpr int NUM_KINDS = 6;
enum Choice { NORTH, EAST, SOUTH, WEST, STOP, ATTACK };  // an attack on the k-th opponent is ATTACK + k
constexpr int MOST_OPPONENTS = ALLY_COUNT > ENEMY_COUNT ? ALLY_COUNT : ENEMY_COUNT;
constexpr int NUM_CHOICES = ATTACK + MOST_OPPONENTS;  // flags of a mask
constexpr int OTHER = 7 + NUM_KINDS, OWN = 4 + NUM_KINDS, ROW = OTHER * (NUM_AGENTS - 1) + OWN;  // numbers of a view

// Where lanes take turns, units that lie side by side are vectors, and each side has vectors of its own, unless one
// vector holds both. A slot is a unit's place in them.
constexpr int FEW = LANES_SIDE_BY_SIDE ? 1 : 16;  // units that a lane takes at once
constexpr int VECTOR = FEW * (LANES_SIDE_BY_SIDE || NUM_AGENTS <= FEW ? 1 : 2);  // bits of an int at most
constexpr int padded(int units) { return (units + VECTOR - 1) / VECTOR * VECTOR; }
constexpr bool IS_SPLIT = !LANES_SIDE_BY_SIDE && NUM_AGENTS > VECTOR;
constexpr int ENEMY_SLOTS = IS_SPLIT ? padded(ALLY_COUNT) : ALLY_COUNT;
constexpr int SLOTS = padded(ENEMY_SLOTS + ENEMY_COUNT);
constexpr float FAR = 1e9f;  // where those are who are in nobody's way

// Of each kind, from scenarios.py.
__constant__ float SPEED[NUM_KINDS], SIGHT[NUM_KINDS], RADIUS[NUM_KINDS];
__constant__ float WIDEST_ROOM[1];  // how far from each other the largest two touch
__constant__ float REACH_ENDS[NUM_KINDS], SIGHT_ENDS[NUM_KINDS];  // squares of distances from which on others are too far
__constant__ float MOST_HEALTH[NUM_KINDS], RELOAD[NUM_KINDS];
__constant__ int DAMAGE[NUM_KINDS];

// The arrays that hold units; health is 0 of the dead.
struct Units {
  float *x, *y, *health, *cooldown;
  int *kind, *last_action;
};

// What others see of a unit, with no place yet: fractions of its health and of its reload, what it did, and its kind.
enum Entry { HEALTH, X, Y, MOVE_X, MOVE_Y, TARGET, COOLDOWN, KIND };
struct Shown {
  float entries[KIND + 1];
  int kind;  // a place in KINDS; 1 among zeros in a view
};
// Where lanes take turns, what a view has of a unit is written as two vectors that overlap, and reaches into the next.
constexpr int WIDE = LANES_SIDE_BY_SIDE ? KIND : KIND + 1, WIDE_KIND = LANES_SIDE_BY_SIDE ? NUM_KINDS : KIND + 1;
__constant__ const float ONE[2 * KIND + 1] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f};  // among zeros

// Of all units of an env, by slot, while a step advances: where they have moved before they are pushed apart; how far
// they walk in a tick, and whom they shoot at.
struct Moving {
  float x[SLOTS], y[SLOTS];
  float way_x[SLOTS], way_y[SLOTS];
  float health[SLOTS], cooldown[SLOTS];
  int target[SLOTS], damage[SLOTS], kind[SLOTS];
};

struct Field {
  float x[SLOTS], y[SLOTS];  // FAR of the dead, once units are shown
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
__device__ int slot_of(int unit) { return is_ally(unit) ? unit : ENEMY_SLOTS + unit - ALLY_COUNT; }
__device__ int unit_at(int slot) { return slot < ENEMY_SLOTS ? slot : slot - ENEMY_SLOTS + ALLY_COUNT; }
__device__ bool is_filler(int slot) {
  return slot < ENEMY_SLOTS ? slot >= ALLY_COUNT : slot >= ENEMY_SLOTS + ENEMY_COUNT;
}
// The dead are each in a place of its own, so that none is near another.
__device__ float far_away(int slot) { return FAR * (float)(slot + 1); }
__device__ int first_unit() { return env_id() * NUM_AGENTS; }
// Each side counts its opponents from the one that the other side counts last, or first: both see a mirrored world.
__device__ int opponent(int unit, int k) { return is_ally(unit) ? ALLY_COUNT + k : ALLY_COUNT - 1 - k; }
__device__ int num_opponents(int unit) { return is_ally(unit) ? ENEMY_COUNT : ALLY_COUNT; }
__device__ int towards_x(int choice) { return (choice == EAST) - (choice == WEST); }
__device__ int towards_y(int choice) { return (choice == NORTH) - (choice == SOUTH); }

__device__ float square_distance(const Field& field, int a, int b) {
  const float dx = field.x[a] - field.x[b], dy = field.y[a] - field.y[b];
  return dx * dx + dy * dy;
}

__device__ float part(float value, float most) { return fminf(fmaxf(value / most, 0.0f), 1.0f); }

__device__ Shown shown(const Units& units, int unit) {
  const int i = first_unit() + unit, kind = units.kind[i], last = units.last_action[i];
  const float target = last >= ATTACK ? (float)last / (float)(ATTACK - 1 + num_opponents(unit)) : 0.0f;
  const float health = units.health[i] / MOST_HEALTH[kind], cooldown = part(units.cooldown[i], RELOAD[kind]);
  return Shown{{health, 0.0f, 0.0f, (float)towards_x(last), (float)towards_y(last), target, cooldown}, kind};
}

// Lets a unit show itself.
__device__ void show(Field& field, const Units& units, int unit) {
  field.shown[unit] = shown(units, unit);
  if (field.shown[unit].entries[HEALTH] > 0.0f) return;
  field.x[slot_of(unit)] = field.y[slot_of(unit)] = FAR;
}

// Writes the 13 numbers about another unit, where `seen` is ~0; zeros where it is 0. No branch depends on who is seen.
__device__ void describe(const Shown& other, unsigned seen, float dx, float dy, bool acts, float* to) {
  const float* kind = ONE + KIND - other.kind;
  float entries[WIDE], kinds[WIDE_KIND];
  for (int k = 0; k < WIDE; ++k) entries[k] = __uint_as_float(__float_as_uint(other.entries[k]) & seen);
  for (int k = 0; k < WIDE_KIND; ++k) kinds[k] = __uint_as_float(__float_as_uint(kind[k]) & seen);
  memcpy(to, entries, sizeof(entries));
  memcpy(to + KIND, kinds, sizeof(kinds));
  to[X] = dx;
  to[Y] = dy;
  if (!acts) to[MOVE_X] = to[MOVE_Y] = to[TARGET] = 0.0f;
}

// How many of so many slots hold units; they come first.
__device__ int num_units(int first, int slots) {
  const int end = IS_SPLIT && first < ENEMY_SLOTS ? ALLY_COUNT : ENEMY_SLOTS + ENEMY_COUNT;
  return end - first < slots ? end - first : slots;
}

// Writes what a living unit sees of the others, friends first: a vector of units at a time. Its own numbers, which are
// never the last, are written over by the next unit's.
__device__ void see(const Field& field, int unit, float* to) {
  const int own = slot_of(unit), own_kind = field.shown[unit].kind;
  const float x = field.x[own], y = field.y[own], sight = SIGHT[own_kind], sight_ends = SIGHT_ENDS[own_kind];
  const bool ally = is_ally(unit);
  for (int vector = 0; vector < SLOTS; vector += VECTOR) {
    const int first = ally ? vector : SLOTS - VECTOR - vector;
    const int first_other = unit_at(first), count = num_units(first, VECTOR);
    float dx[VECTOR], dy[VECTOR];
    unsigned seen[VECTOR];
    for (int k = 0; k < VECTOR; ++k) {
      const float gap_x = field.x[first + k] - x, gap_y = field.y[first + k] - y;
      const bool is_seen = gap_x * gap_x + gap_y * gap_y < sight_ends;
      dx[k] = is_seen ? gap_x / sight : 0.0f;
      dy[k] = is_seen ? gap_y / sight : 0.0f;
      seen[k] = is_seen ? ~0u : 0u;
    }
    for (int turn = 0; turn < count; ++turn) {
      const int k = ally ? turn : count - 1 - turn, other = first_other + k;
      describe(field.shown[other], seen[k], dx[k], dy[k], SEE_ENEMY_ACTIONS || is_ally(other) == ally, to);
      to += other == unit ? 0 : OTHER;
    }
  }
}

// Writes which of COUNT opponents a living unit can shoot at, from the first on in their order.
template <int FIRST, int STEP, int COUNT>
__device__ void aim(const Field& field, int unit, bool* __restrict__ mask) {
  const float x = field.x[slot_of(unit)], y = field.y[slot_of(unit)], reach_ends = REACH_ENDS[field.shown[unit].kind];
  for (int k = 0; k < COUNT; ++k) {
    const float dx = x - field.x[FIRST + STEP * k], dy = y - field.y[FIRST + STEP * k];
    mask[k] = dx * dx + dy * dy < reach_ends;
  }
  for (int k = COUNT; k < MOST_OPPONENTS; ++k) mask[k] = false;
}

// Writes a unit's view and mask; the dead see nothing and can only stop.
__device__ void look(const Field& field, const Seen& seen, int unit) {
  const Shown& own = field.shown[unit];
  const bool lives = own.entries[HEALTH] > 0.0f;
  const int own_kind = own.kind;
  const size_t place = is_ally(unit) ? (size_t)env_id() * ALLY_COUNT + unit : (size_t)env_id() * ENEMY_COUNT + unit - ALLY_COUNT;
  float* row = (is_ally(unit) ? seen.observations_ally : seen.observations_enemy) + place * ROW;
  bool* mask = seen.action_mask + (size_t)(first_unit() + unit) * NUM_CHOICES;
  for (int choice = 0; choice < STOP; ++choice) mask[choice] = lives;
  mask[STOP] = true;
  if (!lives) {
    for (int k = 0; k < MOST_OPPONENTS; ++k) mask[ATTACK + k] = false;
    for (int entry = 0; entry < ROW; ++entry) row[entry] = 0.0f;
    return;
  }
  if (is_ally(unit))
    aim<ENEMY_SLOTS, 1, ENEMY_COUNT>(field, unit, mask + ATTACK);
  else
    aim<ALLY_COUNT - 1, -1, ALLY_COUNT>(field, unit, mask + ATTACK);
  see(field, unit, row);
  row += ROW - OWN;
  row[0] = own.entries[HEALTH];
  row[1] = field.x[slot_of(unit)] / (float)seen.map_width;
  row[2] = field.y[slot_of(unit)] / (float)seen.map_height;
  row[3] = own.entries[COOLDOWN];
  for (int kind = 0; kind < NUM_KINDS; ++kind) row[4 + kind] = kind == own_kind ? 1.0f : 0.0f;
}
