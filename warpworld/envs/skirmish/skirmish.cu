// Units of several kinds walk, shoot and push each other; the side that is left wins. Rules: skirmish.py.
//
// Arrays, (envs, units) unless noted otherwise: x, y, health, cooldown, kind, last_action; goal_x, goal_y, see reset;
// rewards; won (envs). Allies come first. Loops run over units, so that any number of threads will do.
//
// A step is eight ticks. In each, all who can shoot do so at once, then all move, and then those who overlap are pushed
// apart at once.
#include "skirmish.cuh"

constexpr int TICKS = 8;
constexpr float TICK = 0.0625f;  // seconds

struct Ends {
  const int* timestep;
  bool *terminated, *truncated, *won;
  int episode_length;
};

struct Rules {
  const float* cooldown_noise;
  const float* enemy_damage;
  bool walls_cause_death, self_play_rewards;
  float won_bonus;
};

// ---- a tick ---------------------------------------------------------------------------------------------------------
// Whether a unit shoots in this tick.
__device__ bool shoots(const Field& field, const Units& units, int unit) {
  const Moving& moving = field.moving;
  const int target = moving.target[unit];
  if (target < 0 || moving.cooldown[unit] > 0.0f || moving.health[unit] <= 0.0f || moving.health[target] <= 0.0f)
    return false;
  return square_distance(field, unit, target) < REACH_ENDS[units.kind[first_unit() + unit]];
}

__device__ void shoot(Field& field, const Units& units, const Rules& rules, int unit, int tick) {
  float& cooldown = field.moving.cooldown[unit];
  if (!shoots(field, units, unit)) {
    cooldown -= TICK;
    return;
  }
  const int kind = units.kind[first_unit() + unit];
  atomicAdd(&field.moving.damage[field.moving.target[unit]], DAMAGE[kind]);
  Random random = Random::of(tick * NUM_AGENTS + unit);  // numbers of this tick
  cooldown = RELOAD[kind] + rules.cooldown_noise[env_id()] * random.uniform(-TICK, 2.0f * TICK);
}

// Moves a unit, takes its damage, and lets it die, also by a wall.
__device__ void move(Field& field, const Seen& map, const Rules& rules, int unit) {
  Moving& moving = field.moving;
  if (moving.health[unit] <= 0.0f) return;
  const float width = (float)map.map_width, height = (float)map.map_height;
  const float x = field.x[unit] = fmaxf(fminf(field.x[unit] + moving.way_x[unit], width), 0.0f);
  const float y = field.y[unit] = fmaxf(fminf(field.y[unit] + moving.way_y[unit], height), 0.0f);
  const float factor = is_ally(unit) ? rules.enemy_damage[env_id()] : 1.0f;
  const float health = moving.health[unit] - factor * (float)moving.damage[unit];
  const bool hits_wall = rules.walls_cause_death && (x <= 0.0f || y <= 0.0f || x >= width || y >= height);
  const bool lives = health > 0.0f && !hits_wall;
  moving.health[unit] = lives ? health : 0.0f;
  moving.damage[unit] = 0;
  moving.x[slot(unit)] = lives ? x : FAR;
  moving.y[slot(unit)] = lives ? y : FAR;
}

// Bits of those in a vector of units that are too near to a place.
__device__ unsigned touching(const Moving& moving, int first, float x, float y, float radius) {
  unsigned bits = 0;
  for (int k = 0; k < VECTOR; ++k) {
    const float dx = x - moving.x[first + k], dy = y - moving.y[first + k], room = radius + moving.radius[first + k];
    const float square = dx * dx + dy * dy;
    bits |= (unsigned)(square < room * room && square > 0.0f) << k;
  }
  return bits;
}

// Where any living unit of a side is, FAR if there is none.
__device__ float somewhere(const Moving& moving, int first, int end) {
  while (first < end - 1 && moving.x[first] == FAR) ++first;
  return moving.x[first];
}

// Whether a line between the sides has no unit near enough to touch one beyond it.
__device__ bool are_apart(const Moving& moving) {
  const float ally = somewhere(moving, 0, ENEMY_SLOTS), enemy = somewhere(moving, ENEMY_SLOTS, SLOTS);
  const float line = 0.5f * (ally + enemy), sign = ally < enemy ? 1.0f : -1.0f;
  unsigned near = 0;
  for (int k = 0; k < ENEMY_SLOTS; ++k)
    near |= (unsigned)(sign * (line - moving.x[k]) < WIDEST_ROOM[0]) & (unsigned)(moving.x[k] != FAR);
  for (int k = ENEMY_SLOTS; k < SLOTS; ++k)
    near |= (unsigned)(sign * (moving.x[k] - line) < WIDEST_ROOM[0]) & (unsigned)(moving.x[k] != FAR);
  return near == 0;
}

// Pushes a unit away from all that it overlaps, each by half of what is too near. Few overlap; none of the other side,
// where the sides are apart.
__device__ void push(Field& field, int unit, bool apart) {
  const Moving& moving = field.moving;
  const float x = moving.x[slot(unit)], y = moving.y[slot(unit)], radius = moving.radius[slot(unit)];
  if (x == FAR) return;
  float push_x = 0.0f, push_y = 0.0f;
  const int begin = apart && !is_ally(unit) ? ENEMY_SLOTS : 0, end = apart && is_ally(unit) ? ENEMY_SLOTS : SLOTS;
  for (int first = begin; first < end; first += VECTOR) {
    for (unsigned bits = touching(moving, first, x, y, radius); bits; bits &= bits - 1) {
      const int k = first + __ffs(bits) - 1;
      const float dx = x - moving.x[k], dy = y - moving.y[k];
      const float overlap = (radius + moving.radius[k]) / (sqrtf(dx * dx + dy * dy) + 1e-6f) - 1.0f;
      push_x += overlap > 0.0f ? dx * overlap : 0.0f;
      push_y += overlap > 0.0f ? dy * overlap : 0.0f;
    }
  }
  field.x[unit] = x + 0.5f * push_x;
  field.y[unit] = y + 0.5f * push_y;
}

// ---- before and after the ticks -------------------------------------------------------------------------------------
__device__ int choice_of(const int* actions_ally, const int* actions_enemy, int unit) {
  const int choice = is_ally(unit) ? actions_ally[env_id() * ALLY_COUNT + unit]
                                   : actions_enemy[env_id() * ENEMY_COUNT + unit - ALLY_COUNT];
  return choice >= 0 && choice < ATTACK + num_opponents(unit) ? choice : STOP;
}

__device__ void load(Field& field, const Units& units, int choice, int unit) {
  const int i = first_unit() + unit, kind = units.kind[i];
  field.x[unit] = units.x[i];
  field.y[unit] = units.y[i];
  field.moving.health[unit] = units.health[i];
  field.moving.cooldown[unit] = units.cooldown[i];
  field.moving.radius[slot(unit)] = RADIUS[kind];
  field.moving.damage[unit] = 0;
  field.moving.target[unit] = choice >= ATTACK ? opponent(unit, choice - ATTACK) : -1;
  field.moving.way_x[unit] = (float)towards_x(choice) * SPEED[kind] * TICK;
  field.moving.way_y[unit] = (float)towards_y(choice) * SPEED[kind] * TICK;
  field.moving.x[slot(unit)] = field.moving.y[slot(unit)] = FAR;  // of those who are dead already
  units.last_action[i] = choice;
}

// Puts what only fills up a vector out of everybody's way. All lanes call it.
__device__ void pad(Field& field) {
  for (int k = NUM_AGENTS + lane(); k < PADDED; k += num_lanes()) field.x[k] = field.y[k] = FAR;
  for (int k = lane(); k < SLOTS; k += num_lanes()) {
    const bool is_filler = k < ENEMY_SLOTS ? k >= ALLY_COUNT : k - ENEMY_SLOTS >= ENEMY_COUNT;
    if (!is_filler) continue;
    field.moving.x[k] = field.moving.y[k] = FAR;
    field.moving.radius[k] = 0.0f;
  }
}

// Pushes all units apart. All lanes call it; where they run in parallel, to look whether the sides are apart costs more
// than it saves.
__device__ void push_apart(Field& field) {
  const bool apart = IS_SPLIT && are_apart(field.moving);
  for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes()) push(field, unit, apart);
}

// What both sides earn: the share of the other side's health that is gone, and a bonus for a win.
__device__ void judge(Field& field, const Units& units, const Rules& rules, const Ends& ends) {
  float lost[2] = {0.0f, 0.0f};
  int left[2] = {0, 0};
  for (int unit = 0; unit < NUM_AGENTS; ++unit) {
    const int i = first_unit() + unit, side = !is_ally(unit);
    lost[side] += (units.health[i] - field.moving.health[unit]) / MOST_HEALTH[units.kind[i]];
    left[side] += field.moving.health[unit] > 0.0f;
  }
  const int counts[2] = {ALLY_COUNT, ENEMY_COUNT};
  for (int side = 0; side < 2; ++side) {
    const bool wins = left[side] > 0 && left[1 - side] == 0, loses = left[side] == 0 && left[1 - side] > 0;
    const float pay = rules.self_play_rewards ? (loses ? -rules.won_bonus : 0.0f)
                                              : fabsf(lost[1 - side]) / (float)counts[1 - side];
    field.reward[side] = pay + (wins ? rules.won_bonus : 0.0f);
  }
  const int env = env_id();
  const bool is_over = left[0] == 0 || left[1] == 0;
  ends.won[env] = left[0] > 0 && left[1] == 0;
  ends.terminated[env] = is_over;
  ends.truncated[env] = !is_over && ends.timestep[env] >= ends.episode_length;
}

__device__ void store(const Field& field, const Units& units, int unit) {
  const int i = first_unit() + unit;
  units.x[i] = field.x[unit];
  units.y[i] = field.y[unit];
  units.health[i] = field.moving.health[unit];
  units.cooldown[i] = field.moving.cooldown[unit];
}

// Writes what all units see and may do. All lanes call it, after the arrays are written.
__device__ void look_around(Field& field, const Units& units, const Seen& seen) {
  for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes()) show(field, units, unit);
  sync_env();  // all show themselves before any looks
  for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes()) look(field, seen, unit);
}

extern "C" __global__ void step(Units units, Seen seen, Rules rules, Ends ends, const int* actions_ally,
                                const int* actions_enemy, float* rewards) {
  if (!is_active()) return;  // guard
  ENV_SHARED(Field, fields, 1);
  Field& field = fields[0];
  pad(field);
  for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes())
    load(field, units, choice_of(actions_ally, actions_enemy, unit), unit);
  for (int tick = 0; tick < TICKS; ++tick) {
    sync_env();  // all are where they will be shot at
    for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes()) shoot(field, units, rules, unit, tick);
    sync_env();  // all shots have hit before any moves or dies
    for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes()) move(field, seen, rules, unit);
    sync_env();  // all have moved before any is pushed
    push_apart(field);
  }
  if (lane() == 0) judge(field, units, rules, ends);
  sync_env();  // what was lost is counted before health changes
  for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes()) {
    store(field, units, unit);
    rewards[first_unit() + unit] = field.reward[!is_ally(unit)];
  }
  sync_env();  // all have been stored before others take the place of what moved
  look_around(field, units, seen);
}

// Both sides start in a square of their own, left and right. `army` has the kinds; a goal is the start of a unit, turned
// around the middle of the map.
extern "C" __global__ void reset(Units units, Seen seen, const int* army, float* goal_x, float* goal_y, bool* won) {
  if (!is_active()) return;  // guard
  ENV_SHARED(Field, fields, 1);
  Field& field = fields[0];
  const float width = (float)seen.map_width, height = (float)seen.map_height;
  pad(field);
  for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes()) {
    Random random = Random::of(unit);
    const int i = first_unit() + unit;
    units.kind[i] = army[unit];
    field.moving.radius[slot(unit)] = RADIUS[army[unit]];
    field.moving.x[slot(unit)] = width * (is_ally(unit) ? 0.25f : 0.75f) + random.uniform(-2.0f, 2.0f);
    field.moving.y[slot(unit)] = height * 0.5f + random.uniform(-2.0f, 2.0f);
    units.health[i] = MOST_HEALTH[army[unit]];
    units.cooldown[i] = 0.0f;
    units.last_action[i] = STOP;
  }
  sync_env();  // all are there before any is pushed
  push_apart(field);
  for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes()) {  // those that the lane has pushed
    const int i = first_unit() + unit;
    units.x[i] = field.x[unit];
    units.y[i] = field.y[unit];
    goal_x[i] = width - field.x[unit];
    goal_y[i] = height - field.y[unit];
  }
  if (lane() == 0) won[env_id()] = false;
  sync_env();  // all have been pushed before others take the place of what moved
  look_around(field, units, seen);
}
