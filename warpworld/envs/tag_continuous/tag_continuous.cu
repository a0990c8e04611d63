// Tag in a square: taggers chase runners, and all steer by turning and accelerating. Rules: tag_continuous.py.
//
// Arrays, (envs, agents) unless noted otherwise. Every agent writes its own entries of loc_x, loc_y, speed, direction,
// acceleration, still_in_the_game, rewards, agent_mask and agent_terminated; all together write the rows of
// observations; agent 0 writes num_runners, terminated and truncated (envs). Taggers come first. Read: actions (envs,
// agents, 2), which point into acceleration_actions and turn_actions; timestep (envs); with a fixed start start_x,
// start_y and start_direction (agents).
//
// An observation is one block for each feature, in which the others follow each other, then, if asked for, the
// agent's own state, and then the time:
//   dx | dy | dspeed | dacceleration | ddirection | is a tagger | is in the game |
//   x, y, speed, acceleration, cosine and sine of the direction | timestep / episode_length
// The others are all other agents by index, or the nearest in the game, nearest first. It shows the agents that were in
// the game when the step began: an agent tagged in this step is seen once more, and sees.
#include <warpworld.cuh>

constexpr float TWO_PI = 6.28318530717958648f, QUARTER_TURN = 1.57079632679489662f, SQRT_2 = 1.41421356237309505f;
constexpr int START_DRAWS = 64;

constexpr bool FULL = USE_FULL_OBSERVATION;
constexpr int NUM_OTHERS = NUM_AGENTS - 1;
constexpr int COLUMNS = FULL ? NUM_OTHERS : NUM_OTHER_AGENTS_OBSERVED;           // of a block
constexpr int NEAREST = FULL ? 1 : COLUMNS < NUM_OTHERS ? COLUMNS : NUM_OTHERS;  // columns that can show an agent
constexpr int OWN = OBSERVE_OWN_STATE ? 6 : 0;                                   // entries of one's own state
static_assert(OBSERVATION_SIZE == 7 * COLUMNS + OWN + 1, "the observation that tag_continuous.py declares");

// Blocks of an observation. The first five are differences to oneself, of what lanes share as Field::state.
enum { X, Y, SPEED, ACCELERATION, DIRECTION, IS_TAGGER, IS_IN_GAME, NUM_BLOCKS, NUM_DIFFERENCES = IS_TAGGER };

#include "cells.cuh"
#include "nearest.cuh"

// Where lanes run side by side they write all rows of their env together, for which all agents' nearest must be where
// all can read them. Where they take turns each writes its own row in one piece, and what lies side by side are vectors.
constexpr int LISTS_BYTES = 2 * NEAREST * NUM_AGENTS;
constexpr int SHARED_BYTES = 4 * NUM_DIFFERENCES * PADDED + 4 * TAGGER_COUNT + NUM_AGENTS + LISTS_BYTES;
constexpr bool TOGETHER = LANES_SIDE_BY_SIDE && (FULL || SHARED_BYTES < 46 * 1024);

struct Agent {
  float x, y, speed, direction, acceleration;
  bool in_game;
};

// What an env's lanes share.
struct Field {
  float state[NUM_DIFFERENCES][PADDED];  // where the nearest are sought, those out of the game are at x = infinity
  int tags[TAGGER_COUNT];                // of each tagger, in this step
  int num_tagged;
  bool in_game[NUM_AGENTS];
  union {  // the lists take the place of the cells, which have then been searched
    Cells cells;
    uint16_t nearest[TOGETHER && !FULL ? NUM_AGENTS : 1][NEAREST];
  };

  __device__ Places places() const { return state; }
};

__device__ Field& shared_field() {
  ENV_SHARED(Field, field, 1);
  return field[0];
}

// The arrays that hold agents.
struct Agents {
  float *loc_x, *loc_y, *speed, *direction, *acceleration;
  int* still_in_the_game;

  __device__ Agent load(int i) const {
    return Agent{loc_x[i], loc_y[i], speed[i], direction[i], acceleration[i], still_in_the_game[i] != 0};
  }

  __device__ void store(int i, const Agent& agent) const {
    loc_x[i] = agent.x;
    loc_y[i] = agent.y;
    speed[i] = agent.speed;
    direction[i] = agent.direction;
    acceleration[i] = agent.acceleration;
  }
};

// Who took part in the step, and for whom it ended the game.
struct Ends {
  bool *agent_mask, *agent_terminated;  // agents
  bool *terminated, *truncated;         // envs
};

// The numbers of the game: tag_continuous.py.
struct Rules {
  float grid_length;
  int episode_length;
  float max_speed, skill_level_runner, skill_level_tagger, edge_hit_penalty;
  float tagging_distance, tag_reward_for_tagger, tag_penalty_for_runner;
  float step_penalty_for_tagger, step_reward_for_runner, end_of_game_reward_for_runner;
  bool runner_exits_game_after_tagged;
};

// ---- movement -------------------------------------------------------------------------------------------------------
// What an action changes, by a table of so many levels behind that of no change; none is an action outside of its space.
__device__ float change_of(const float* table, int action, int num_levels) {
  return table[(unsigned)action <= (unsigned)num_levels ? action : 0];
}

__device__ Agent moved(Agent agent, float acceleration_change, float turn, float top_speed) {
  if (!agent.in_game) return Agent{agent.x, agent.y, 0.0f, 0.0f, 0.0f, false};
  const float turned = agent.direction + turn;
  agent.direction = fmaxf(turned - TWO_PI * floorf(turned * (1.0f / TWO_PI)), 0.0f);
  agent.acceleration += acceleration_change;
  agent.speed = fminf(fmaxf(agent.speed + agent.acceleration, 0.0f), top_speed);
  if (agent.speed <= 0.0f || agent.speed >= top_speed) agent.acceleration = 0.0f;
  agent.x += agent.speed * cosf(agent.direction);
  agent.y += agent.speed * sinf(agent.direction);
  return agent;
}

// Brings an agent back into the square; whether it was outside.
__device__ bool stopped_by_edge(Agent& agent, float grid_length) {
  const float x = agent.x, y = agent.y;
  agent.x = fminf(fmaxf(x, 0.0f), grid_length);
  agent.y = fminf(fmaxf(y, 0.0f), grid_length);
  return x != agent.x || y != agent.y;
}

// Shows an agent to the others of its env.
__device__ void share(Field& field, const Agent& agent) {
  const int self = agent_id();
  field.state[X][self] = FULL || agent.in_game ? agent.x : INFINITY;
  field.state[Y][self] = agent.y;
  field.state[SPEED][self] = agent.speed;
  field.state[ACCELERATION][self] = agent.acceleration;
  field.state[DIRECTION][self] = agent.direction;
  field.in_game[self] = agent.in_game;
  for (int i = NUM_AGENTS + lane(); i < PADDED; i += num_lanes()) {
    field.state[X][i] = INFINITY;
    field.state[Y][i] = 0.0f;
  }
  if (BY_CELLS) empty(field.cells);
}

// ---- who is near ----------------------------------------------------------------------------------------------------
struct Tagger {
  int id, key;
};

// The tagger nearest to a place, the lowest index among equals.
__device__ Tagger nearest_tagger(const Field& field, float x, float y) {
  Tagger nearest{0, FAR};
  GPU_UNROLL(4)
  for (int id = 0; id < TAGGER_COUNT; ++id) {
    const int key = distance_key(field.places(), id, x, y);
    nearest.id = key < nearest.key ? id : nearest.id;
    nearest.key = key < nearest.key ? key : nearest.key;
  }
  return nearest;
}

__device__ void see_nobody(uint16_t* nearest) {
  GPU_UNROLL(4)
  for (int i = 0; i < NEAREST; ++i) nearest[i] = (uint16_t)agent_id();
}

// The same by cells. All lanes of an env come here, since they build the cells together; where lanes run side by side
// they then search in the order of the cells, so that neighbouring lanes look at the same ones.
__device__ void find_by_cells(Field& field, const Agent& agent, float grid_length, uint16_t* own_nearest) {
  Cells& cells = field.cells;
  const Grid grid = grid_of(grid_length);
  fill(cells, grid, field.places(), agent.in_game);
  const int slot = TOGETHER ? lane() : agent.in_game ? cells.slot_of[agent_id()] : NUM_AGENTS;
  const bool seeks = slot < cells.first[NUM_CELLS];
  Found found;
  int seeker = 0;
  if (seeks) {
    seeker = cells.agents[slot];
    search(cells, grid, slot, found);
  }
  if (TOGETHER) sync_env();  // orders all searches before the lists that take the place of the cells
  if (seeks) write(found, seeker, TOGETHER ? field.nearest[seeker] : own_nearest);
  if (!agent.in_game) see_nobody(TOGETHER ? field.nearest[agent_id()] : own_nearest);
}

// Finds the agents in the columns of the observations; one that is out of the game sees no other.
__device__ void find_nearest(Field& field, const Agent& agent, float grid_length, uint16_t* own_nearest) {
  const int self = agent_id();
  if constexpr (BY_CELLS) {
    find_by_cells(field, agent, grid_length, own_nearest);
  } else if constexpr (!FULL) {
    uint16_t* nearest = TOGETHER ? field.nearest[self] : own_nearest;
    if (agent.in_game)
      nearest_of(field.places(), self, agent.x, agent.y, nearest);
    else
      see_nobody(nearest);
  }
}

// ---- observations ---------------------------------------------------------------------------------------------------
struct View {
  float scale[NUM_DIFFERENCES];
  float side, time;
};

__device__ View view_of(float grid_length, float max_speed, float time) {
  const float place = 1.0f / (SQRT_2 * grid_length), speed = 1.0f / (max_speed + 1e-10f);
  return View{{place, place, speed, speed, 1.0f / TWO_PI}, 1.0f / grid_length, time};
}

// What the blocks of an agent's observation say of an agent; of itself, in columns without anybody, they say nothing.
__device__ float difference(const Field& field, float scale, int self, int block, int other) {
  if (FULL || !TOGETHER ? !field.in_game[self] : other == self) return 0.0f;
  return (field.state[block][other] - field.state[block][self]) * scale;
}

__device__ float is_tagger(int self, int other) { return (float)(other < TAGGER_COUNT && other != self); }

__device__ float is_in_game(const Field& field, int self, int other) {
  return (float)(FULL ? field.in_game[other] : other != self);
}

__device__ float seen(const Field& field, const View& view, int self, int block, int other) {
  if (block == IS_TAGGER) return is_tagger(self, other);
  if (block == IS_IN_GAME) return is_in_game(field, self, other);
  return difference(field, view.scale[block], self, block, other);
}

// What follows the blocks: an agent's own state, and the time.
__device__ float own(const Field& field, const View& view, int self, int entry) {
  if (!field.in_game[self]) return 0.0f;
  if (OWN == 0 || entry == OWN) return view.time;
  if (entry < 2) return field.state[entry][self] * view.side;
  if (entry < 4) return field.state[entry][self] * view.scale[entry];
  return entry == 4 ? cosf(field.state[DIRECTION][self]) : sinf(field.state[DIRECTION][self]);
}

__device__ int other_in(const uint16_t* nearest, int self, int column) {
  if (FULL) return column + (column >= self);
  return column < NEAREST ? nearest[column] : self;
}

__device__ void write_own_row(const Field& field, const View& view, const uint16_t* nearest, float* __restrict__ row) {
  const int self = agent_id();
  for (int block = 0; block < NUM_BLOCKS; ++block) {
    GPU_UNROLL(4)
    for (int column = 0; column < (FULL ? self : COLUMNS); ++column)
      *row++ = seen(field, view, self, block, FULL ? column : other_in(nearest, self, column));
    for (int other = self + 1; FULL && other < NUM_AGENTS; ++other) *row++ = seen(field, view, self, block, other);
  }
  for (int entry = 0; entry <= OWN; ++entry) *row++ = own(field, view, self, entry);
}

// Writes all rows of the env, each lane a few entries of many rows: what an entry is about then stays the same in its
// loop, and neighbouring lanes write neighbouring numbers.
__device__ void write_rows_together(const Field& field, const View& view, float* __restrict__ rows) {
  constexpr int WIDTH = OBSERVATION_SIZE < NUM_AGENTS ? OBSERVATION_SIZE : NUM_AGENTS;
  constexpr int ROWS = NUM_AGENTS / WIDTH;  // at a time
  const int first = lane() / WIDTH;
  if (first >= ROWS) return;  // no barrier follows
  for (int entry = lane() % WIDTH; entry < OBSERVATION_SIZE; entry += WIDTH) {
    const int block = entry / COLUMNS, column = entry % COLUMNS;
    const auto other_of = [&](int self) { return other_in(field.nearest[FULL ? 0 : self], self, column); };
    const auto write = [&](auto value_of) {
      GPU_UNROLL(2)
      for (int self = first; self < NUM_AGENTS; self += ROWS) rows[self * OBSERVATION_SIZE + entry] = value_of(self);
    };
    if (block < NUM_DIFFERENCES) {
      const float scale = view.scale[block];
      write([&](int self) { return difference(field, scale, self, block, other_of(self)); });
    } else if (block == IS_TAGGER) {
      write([&](int self) { return is_tagger(self, other_of(self)); });
    } else if (block == IS_IN_GAME) {
      write([&](int self) { return is_in_game(field, self, other_of(self)); });
    } else {
      write([&](int self) { return own(field, view, self, entry - NUM_BLOCKS * COLUMNS); });
    }
  }
}

// Writes the env's rows of observations; `own_nearest` are this agent's.
__device__ void write_rows(const Field& field, const View& view, const uint16_t* own_nearest, float* observations) {
  float* rows = observations + (int64_t)env_id() * NUM_AGENTS * OBSERVATION_SIZE;
  if constexpr (TOGETHER)
    write_rows_together(field, view, rows);
  else
    write_own_row(field, view, own_nearest, rows + agent_id() * OBSERVATION_SIZE);
}

// ---- kernels --------------------------------------------------------------------------------------------------------
extern "C" __global__ void step(Agents agents, int* num_runners, const int* actions, const float* acceleration_actions,
                                const float* turn_actions, int num_acceleration_levels, int num_turn_levels,
                                const int* timestep, float* observations, float* rewards, Ends ends, Rules rules) {
  if (!is_active()) return;  // guard
  Field& field = shared_field();
  const int i = agent_index(), self = agent_id();
  const bool is_tagger = self < TAGGER_COUNT, is_last = timestep[env_id()] >= rules.episode_length;

  Agent agent = agents.load(i);
  agent = moved(agent, change_of(acceleration_actions, actions[2 * i], num_acceleration_levels),
                change_of(turn_actions, actions[2 * i + 1], num_turn_levels),
                rules.max_speed * (is_tagger ? rules.skill_level_tagger : rules.skill_level_runner));
  float reward = 0.0f;
  if (agent.in_game) {
    reward = is_tagger ? rules.step_penalty_for_tagger : rules.step_reward_for_runner;
    if (stopped_by_edge(agent, rules.grid_length)) reward += rules.edge_hit_penalty;
  }
  agents.store(i, agent);
  share(field, agent);
  if (is_tagger) field.tags[self] = 0;
  if (self == 0) field.num_tagged = 0;
  sync_env();  // orders the field and the counters of tags before their use

  bool tagged = false;
  if (agent.in_game && !is_tagger) {
    const Tagger tagger = nearest_tagger(field, agent.x, agent.y);
    const float margin = rules.tagging_distance * rules.grid_length;
    tagged = tagger.key < __float_as_int(margin * margin);
    if (tagged) {
      atomicAdd(&field.tags[tagger.id], 1);
      atomicAdd(&field.num_tagged, 1);
      reward += rules.tag_penalty_for_runner;
    } else if (is_last) {
      reward += rules.end_of_game_reward_for_runner;
    }
  }
  const bool leaves = tagged && rules.runner_exits_game_after_tagged;
  if (leaves) agents.still_in_the_game[i] = 0;
  rewards[i] = reward;
  ends.agent_mask[i] = agent.in_game;
  ends.agent_terminated[i] = leaves;

  uint16_t own_nearest[TOGETHER ? 1 : NEAREST];
  find_nearest(field, agent, rules.grid_length, own_nearest);
  sync_env();  // orders the counts of tags, and all nearest agents, before their reading

  // What is known above is asked anew, so that no register of a GPU holds it through the search.
  if (self < TAGGER_COUNT) rewards[agent_index()] += (float)field.tags[self] * rules.tag_reward_for_tagger;
  const int env = env_id();
  if (self == 0) {
    const int left = num_runners[env] - (rules.runner_exits_game_after_tagged ? field.num_tagged : 0);
    num_runners[env] = left;
    ends.terminated[env] = left == 0;
    ends.truncated[env] = timestep[env] >= rules.episode_length && left != 0;
  }
  const float time = (float)timestep[env] / (float)rules.episode_length;
  write_rows(field, view_of(rules.grid_length, rules.max_speed, time), own_nearest, observations);
}

// What both ways to start have in common, once the agents are placed and shared.
__device__ void start_episode(Field& field, const Agents& agents, const Agent& agent, int* num_runners,
                              float* observations, float grid_length, float max_speed) {
  const int i = agent_index(), self = agent_id();
  agents.store(i, agent);
  agents.still_in_the_game[i] = 1;
  if (self == 0) num_runners[env_id()] = RUNNER_COUNT;
  sync_env();  // orders the field before its use
  uint16_t own_nearest[TOGETHER ? 1 : NEAREST];
  find_nearest(field, agent, grid_length, own_nearest);
  if (TOGETHER) sync_env();  // orders all nearest agents before their reading
  write_rows(field, view_of(grid_length, max_speed, 0.0f), own_nearest, observations);
}

// Starts anywhere in the square, runners out of the taggers' reach: up to START_DRAWS places are drawn for a runner; if
// all are within reach of a tagger (the reach then covers most of the square), it gets the one farthest from any.
extern "C" __global__ void reset(Agents agents, int* num_runners, float* observations, float grid_length,
                                 float max_speed, float tagging_distance) {
  if (!is_active()) return;  // guard
  Field& field = shared_field();
  const bool is_tagger = agent_id() < TAGGER_COUNT;
  Random random = Random::agent();
  Agent agent{0.0f, 0.0f, 0.0f, QUARTER_TURN * (float)random.below(4), 0.0f, true};
  if (is_tagger) {
    agent.x = random.uniform() * grid_length;
    agent.y = random.uniform() * grid_length;
    share(field, agent);
  }
  sync_env();  // orders the taggers' places before the runners seek theirs
  if (!is_tagger) {
    const float margin = tagging_distance * grid_length;
    int farthest = -1;
    for (int draw = 0; draw < START_DRAWS && farthest < __float_as_int(margin * margin); ++draw) {
      const float x = random.uniform() * grid_length, y = random.uniform() * grid_length;
      const int key = nearest_tagger(field, x, y).key;
      if (key <= farthest) continue;
      farthest = key;
      agent.x = x;
      agent.y = y;
    }
    share(field, agent);
  }
  start_episode(field, agents, agent, num_runners, observations, grid_length, max_speed);
}

// Starts in given places, the same for every env and episode.
extern "C" __global__ void reset_fixed(Agents agents, int* num_runners, const float* start_x, const float* start_y,
                                       const float* start_direction, float* observations, float grid_length,
                                       float max_speed) {
  if (!is_active()) return;  // guard
  Field& field = shared_field();
  const int self = agent_id();
  const Agent agent{start_x[self], start_y[self], 0.0f, start_direction[self], 0.0f, true};
  share(field, agent);
  start_episode(field, agents, agent, num_runners, observations, grid_length, max_speed);
}
