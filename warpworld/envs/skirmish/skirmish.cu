// Units of several kinds walk, shoot and push each other; the side that is left wins. Rules: skirmish.py.
//
// Arrays, (envs, units) unless noted otherwise: x, y, health, cooldown, kind, last_action; goal_x, goal_y, see reset;
// rewards; won (envs). Allies come first. Loops run over units, or over a few at once, so that any number of
// threads will do.
//
// A step is eight ticks. In each, all who can shoot do so at once, then all move, and then those who overlap are pushed
// apart at once.
#include "attack.cuh"
#include "skirmish.cuh"
#include "starts.cuh"

constexpr int TICKS = 8;
constexpr float TICK = 0.0625f;  // seconds

struct Ends {
  const int* timestep;
  bool *terminated, *truncated, *won;
  int episode_length;
};

// Of an env.
struct Ground {
  float width, height, enemy_damage;
  bool walls_kill;
};

struct Rules {
  const float* cooldown_noise;
  const float* enemy_damage;
  bool walls_cause_death, self_play_rewards;
  float won_bonus;
};

// ---- a tick, of a few units at once ---------------------------------------------------------------------------------
// Whether a unit shoots in this tick.
__device__ bool shoots(const Field& field, int slot) {
  const Moving& moving = field.moving;
  const int target = moving.target[slot], aim = target < 0 ? slot : target;
  const bool is_near = square_distance(field, slot, aim) < REACH_ENDS[moving.kind[slot]];
  const bool both_live = (moving.health[slot] > 0.0f) & (moving.health[aim] > 0.0f);
  return (target >= 0) & (moving.cooldown[slot] <= 0.0f) & both_live & is_near;
}

__device__ void fire(Field& field, float cooldown_noise, int slot, int tick) {
  const int kind = field.moving.kind[slot];
  atomicAdd(&field.moving.damage[field.moving.target[slot]], DAMAGE[kind]);
  Random random = Random::of(tick * NUM_AGENTS + unit_at(slot));  // numbers of this tick
  field.moving.cooldown[slot] = RELOAD[kind] + cooldown_noise * random.uniform(-TICK, 2.0f * TICK);
}

// Lets those of a few shoot who can. The others reload.
__device__ void shoot(Field& field, float cooldown_noise, int own, int tick) {
  unsigned bits = 0;
  for (int unit = 0; unit < FEW; ++unit) {
    bits |= (unsigned)shoots(field, own + unit) << unit;
    field.moving.cooldown[own + unit] -= TICK;
  }
  for (; bits; bits &= bits - 1) fire(field, cooldown_noise, own + __ffs((int)bits) - 1, tick);
}

__device__ float within(float place, float end) { return place < 0.0f ? 0.0f : place > end ? end : place; }

// Moves a few units, lets them take their damage, and die, also by a wall. A loop has one condition, or a CPU branches.
__device__ void move(Field& field, const Ground& ground, int own) {
  Moving& moving = field.moving;
  for (int slot = own; slot < own + FEW; ++slot) {
    const bool lives = moving.health[slot] > 0.0f;
    field.x[slot] = lives ? within(field.x[slot] + moving.way_x[slot], ground.width) : field.x[slot];
    field.y[slot] = lives ? within(field.y[slot] + moving.way_y[slot], ground.height) : field.y[slot];
  }
  for (int slot = own; slot < own + FEW; ++slot) {
    const float x = field.x[slot], y = field.y[slot], factor = slot < ENEMY_SLOTS ? ground.enemy_damage : 1.0f;
    const float health = moving.health[slot] - factor * (float)moving.damage[slot];
    const bool hits_wall = (x <= 0.0f) | (y <= 0.0f) | (x >= ground.width) | (y >= ground.height);
    moving.health[slot] = (health > 0.0f) & !(hits_wall & ground.walls_kill) ? health : 0.0f;
    moving.damage[slot] = 0;
  }
  for (int slot = own; slot < own + FEW; ++slot) {
    const bool lives = moving.health[slot] > 0.0f;
    moving.x[slot] = lives ? field.x[slot] : far_away(slot);
    moving.y[slot] = lives ? field.y[slot] : far_away(slot);
  }
}

// Of each unit of a few, the bits of those in a vector that it may overlap: that are near enough for the largest.
// Returns the bits of units that have any.
__device__ unsigned near(const Moving& moving, int own, int first, unsigned* bits) {
  const float room = WIDEST_ROOM[0], end = room * room;
  for (int unit = 0; unit < FEW; ++unit) bits[unit] = 0;
  for (int k = 0; k < num_units(first, VECTOR); ++k) {
    const float x = moving.x[first + k], y = moving.y[first + k];
    const unsigned bit = 1u << k;
#ifndef __CUDACC__
#pragma GCC unroll 1  // else a CPU makes no vectors
#endif
    for (int unit = 0; unit < FEW; ++unit) {
      const float dx = moving.x[own + unit] - x, dy = moving.y[own + unit] - y;
      bits[unit] |= -(unsigned)(dx * dx + dy * dy < end) & bit;
    }
  }
  for (int unit = 0; unit < FEW; ++unit) {
    const int itself = own + unit - first;
    bits[unit] &= itself >= 0 && itself < VECTOR ? ~(1u << itself) : ~0u;
  }
  unsigned some = 0;
  for (int unit = 0; unit < FEW; ++unit) some |= (unsigned)(bits[unit] != 0) << unit;
  return some;
}

// Where any living unit of a side is, FAR if there is none.
__device__ float somewhere(const Moving& moving, int first, int end) {
  while (first < end - 1 && moving.x[first] >= FAR) ++first;
  return moving.x[first];
}

// Whether a line between the sides has no unit near enough to touch one beyond it.
__device__ bool are_apart(const Moving& moving) {
  const float ally = somewhere(moving, 0, ENEMY_SLOTS), enemy = somewhere(moving, ENEMY_SLOTS, SLOTS);
  const float line = 0.5f * (ally + enemy), sign = ally < enemy ? 1.0f : -1.0f;
  unsigned near = 0;
  for (int k = 0; k < ENEMY_SLOTS; ++k)
    near |= (unsigned)(sign * (line - moving.x[k]) < WIDEST_ROOM[0]) & (unsigned)(moving.x[k] < FAR);
  for (int k = ENEMY_SLOTS; k < SLOTS; ++k)
    near |= (unsigned)(sign * (moving.x[k] - line) < WIDEST_ROOM[0]) & (unsigned)(moving.x[k] < FAR);
  return near == 0;
}

// Adds up how far a unit is pushed by those of a vector that it overlaps: by half of what is too near from each.
__device__ void add_pushes(const Moving& moving, int own, int first, unsigned bits, float& push_x, float& push_y) {
  const float x = moving.x[own], y = moving.y[own], radius = RADIUS[moving.kind[own]];
  for (; bits; bits &= bits - 1) {
    const int k = first + __ffs((int)bits) - 1;
    const float dx = x - moving.x[k], dy = y - moving.y[k];
    const float overlap = (radius + RADIUS[moving.kind[k]]) / (sqrtf(dx * dx + dy * dy) + 1e-6f) - 1.0f;
    push_x += overlap > 0.0f ? dx * overlap : 0.0f;
    push_y += overlap > 0.0f ? dy * overlap : 0.0f;
  }
}

// Pushes a few units away from all that they overlap, which few do; none of the other side, where the sides are apart.
__device__ void push(Field& field, int own, bool apart) {
  const Moving& moving = field.moving;
  const bool ally = own < ENEMY_SLOTS;
  float push_x[FEW] = {}, push_y[FEW] = {};
  unsigned bits[FEW];
  for (int first = apart && !ally ? ENEMY_SLOTS : 0; first < (apart && ally ? ENEMY_SLOTS : SLOTS); first += VECTOR) {
    for (unsigned some = near(moving, own, first, bits); some; some &= some - 1) {
      const int unit = __ffs((int)some) - 1;
      add_pushes(moving, own + unit, first, bits[unit], push_x[unit], push_y[unit]);
    }
  }
  for (int unit = 0; unit < FEW; ++unit) {
    const float x = moving.x[own + unit], y = moving.y[own + unit];
    field.x[own + unit] = x < FAR ? x + 0.5f * push_x[unit] : field.x[own + unit];
    field.y[own + unit] = x < FAR ? y + 0.5f * push_y[unit] : field.y[own + unit];
  }
}

// ---- before and after the ticks -------------------------------------------------------------------------------------
__device__ int choice_of(const int* actions_ally, const int* actions_enemy, int unit) {
  const int choice = is_ally(unit) ? actions_ally[env_id() * ALLY_COUNT + unit]
                                   : actions_enemy[env_id() * ENEMY_COUNT + unit - ALLY_COUNT];
  return choice >= 0 && choice < ATTACK + num_opponents(unit) ? choice : STOP;
}

__device__ void load(Field& field, const Units& units, int choice, int unit) {
  const int i = first_unit() + unit, kind = units.kind[i], slot = slot_of(unit);
  field.x[slot] = units.x[i];
  field.y[slot] = units.y[i];
  field.moving.health[slot] = units.health[i];
  field.moving.cooldown[slot] = units.cooldown[i];
  field.moving.kind[slot] = kind;
  field.moving.damage[slot] = 0;
  field.moving.target[slot] = choice >= ATTACK ? slot_of(opponent(unit, choice - ATTACK)) : -1;
  field.moving.way_x[slot] = (float)towards_x(choice) * SPEED[kind] * TICK;
  field.moving.way_y[slot] = (float)towards_y(choice) * SPEED[kind] * TICK;
  units.last_action[i] = choice;
}

// Fills vectors up with dead units. All lanes call it.
__device__ void pad(Field& field) {
  for (int slot = lane(); slot < SLOTS; slot += num_lanes()) {
    if (!is_filler(slot)) continue;
    field.x[slot] = field.y[slot] = FAR;
    field.moving.x[slot] = field.moving.y[slot] = far_away(slot);
    field.moving.health[slot] = field.moving.cooldown[slot] = 0.0f;
    field.moving.way_x[slot] = field.moving.way_y[slot] = 0.0f;
    field.moving.kind[slot] = field.moving.damage[slot] = 0;
    field.moving.target[slot] = -1;
  }
}

// Pushes all units apart. All lanes call it; where they run in parallel, to look whether the sides are apart costs more
// than it saves.
__device__ void push_apart(Field& field) {
  const bool apart = IS_SPLIT && are_apart(field.moving);
  for (int few = lane(); few < SLOTS / FEW; few += num_lanes()) push(field, few * FEW, apart);
}

// What both sides earn: the share of the other side's health that is gone, and a bonus for a win.
__device__ void judge(Field& field, const Units& units, const Rules& rules, const Ends& ends) {
  float lost[2] = {0.0f, 0.0f};
  int left[2] = {0, 0};
  for (int unit = 0; unit < NUM_AGENTS; ++unit) {
    const int i = first_unit() + unit, side = !is_ally(unit);
    lost[side] += (units.health[i] - field.moving.health[slot_of(unit)]) / MOST_HEALTH[units.kind[i]];
    left[side] += field.moving.health[slot_of(unit)] > 0.0f;
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
  const int i = first_unit() + unit, slot = slot_of(unit);
  units.x[i] = field.x[slot];
  units.y[i] = field.y[slot];
  units.health[i] = field.moving.health[slot];
  units.cooldown[i] = field.moving.cooldown[slot];
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
  const float width = (float)seen.map_width, height = (float)seen.map_height;
  const Ground ground = {width, height, rules.enemy_damage[env_id()], rules.walls_cause_death};
  const float cooldown_noise = rules.cooldown_noise[env_id()];
  pad(field);
  for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes())
    load(field, units, choice_of(actions_ally, actions_enemy, unit), unit);
  for (int tick = 0; tick < TICKS; ++tick) {
    sync_env();  // all are where they will be shot at
    for (int few = lane(); few < SLOTS / FEW; few += num_lanes()) shoot(field, cooldown_noise, few * FEW, tick);
    sync_env();  // all shots have hit before any moves or dies
    for (int few = lane(); few < SLOTS / FEW; few += num_lanes()) move(field, ground, few * FEW);
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

// Puts units where they start. `army` has the kinds, or -1 where sides are drawn; a goal is the start of a unit, turned around
// the middle of the map.
extern "C" __global__ void reset(Units units, Seen seen, const int* army, float* goal_x, float* goal_y, bool* won) {
  if (!is_active()) return;  // guard
  ENV_SHARED(Field, fields, 1);
  Field& field = fields[0];
  const float width = (float)seen.map_width, height = (float)seen.map_height;
  pad(field);
  for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes()) {
    const Start start = start_of(army[unit], unit, width, height);
    const int i = first_unit() + unit, slot = slot_of(unit);
    units.kind[i] = field.moving.kind[slot] = start.kind;
    field.x[slot] = field.moving.x[slot] = start.x;
    field.y[slot] = field.moving.y[slot] = start.y;
    units.health[i] = MOST_HEALTH[start.kind];
    units.cooldown[i] = 0.0f;
    units.last_action[i] = STOP;
  }
  sync_env();  // all are there before any is pushed
  push_apart(field);
  sync_env();  // all have been pushed before places are stored
  for (int unit = lane(); unit < NUM_AGENTS; unit += num_lanes()) {
    const int i = first_unit() + unit;
    units.x[i] = field.x[slot_of(unit)];
    units.y[i] = field.y[slot_of(unit)];
    goal_x[i] = width - units.x[i];
    goal_y[i] = height - units.y[i];
  }
  if (lane() == 0) won[env_id()] = false;
  sync_env();  // all have been stored before others take the place of what moved
  look_around(field, units, seen);
}

// Shoots at whom it shot at before, or else at the nearest opponent in reach; walks while there is none: straight to one of
// the opponents that it sees, which it draws anew in every step, and to its goal while it sees none.
extern "C" __global__ void attack(Played played, Battlefield field) {
  if (!plays(played, agent_id())) return;
  const Situation situation = situation_of(field, agent_id());
  const bool shoots = situation.target >= 0;
  float* logits = outputs_of(played, agent_id());
  choose(logits, played.script_width, shoots ? ATTACK + situation.target : STOP);
  if (shoots) return;
  logits[STOP] = NEVER;
  walk(field, situation, agent_id(), logits);
}
