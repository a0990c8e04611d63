// Tag in a square: taggers chase runners, and all steer by turning and accelerating. Rules: tag_continuous.py.
//
// Arrays, (envs, agents) unless noted otherwise: loc_x, loc_y, speed, direction, acceleration, still_in_the_game, rewards,
// agent_mask, agent_terminated and the rows of observations; lane 0 writes num_runners, terminated and truncated (envs).
// Taggers come first. Read: actions (envs, agents, 2), which point into acceleration_actions and turn_actions; timestep
// (envs); with a fixed start start_x, start_y and start_direction (agents).
//
// The lanes of an env share its agents: each takes every num_lanes()-th, in each of the phases between barriers. In a crowd,
// what lanes share lies in the array crowd (envs, CROWD_BYTES), which else has no meaning.
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

// More agents than a block can have threads: what lanes share then lies in global memory.
constexpr bool IS_CROWD = NUM_AGENTS > 1024;

// Where lanes run side by side, a block has so many (tag_continuous.py) that several blocks share a multiprocessor: one
// computes while another waits. A crowd's has all it can.
constexpr int MOST_LANES = IS_CROWD ? 1024 : NUM_AGENTS < 512 ? NUM_AGENTS : 512;

#include "greedy.cuh"
#include "shortlist.cuh"

// Where lanes run side by side they write rows of their env together, for which the nearest of these rows' agents must
// be where all can read them: in a block's memory those of as many agents as there are lanes. Where lanes take turns each
// writes its own row in one piece, and what lies side by side are vectors.
constexpr int PART = IS_CROWD ? NUM_AGENTS : MOST_LANES;
constexpr int LISTS_BYTES = 2 * NEAREST * PART;
constexpr int SHARED_BYTES = 4 * NUM_DIFFERENCES * ROW + 4 * TAGGER_COUNT + 2 * NUM_AGENTS + LISTS_BYTES + sizeof(Cells);
constexpr bool TOGETHER = LANES_SIDE_BY_SIDE && (FULL || IS_CROWD || SHARED_BYTES < 46 * 1024);
constexpr int NUM_LISTS = TOGETHER && !FULL ? PART : 1;
constexpr int CROWD_BYTES = IS_CROWD ? 48 * NUM_AGENTS + NUM_AGENTS * NEAREST / 4 * 8 + 64 * NEAREST + 256 : 8;

struct Agent {
  float x, y, speed, direction, acceleration;
  bool in_game;
};

// What an env's lanes share.
struct Field {
  Cells cells;
  uint16_t nearest[NUM_LISTS][NEAREST];
  float state[NUM_DIFFERENCES][ROW];  // where the nearest are sought, those out of the game are at x = infinity
  int tags[TAGGER_COUNT];             // of each tagger, in this step
  int num_tagged;
  bool in_game[NUM_AGENTS], is_tagged[NUM_AGENTS];

  __device__ Places places() const { return state; }
};

template <class Shared>  // so that only one of the two is compiled
__device__ Shared& shared_in(unsigned char* crowd) {
  if constexpr (IS_CROWD) {
    static_assert(sizeof(Shared) <= CROWD_BYTES, "the array that tag_continuous.py declares");
    return *(Shared*)(crowd + (size_t)env_id() * CROWD_BYTES);
  } else {
    ENV_SHARED(Shared, field, 1);
    return field[0];
  }
}

__device__ Field& shared_field(unsigned char* crowd) { return shared_in<Field>(crowd); }

__device__ int index_of(int agent) { return env_id() * NUM_AGENTS + agent; }

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
  const int* timestep;                  // envs
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
__device__ void share(Field& field, const Agent& agent, int self) {
  field.state[X][self] = FULL || agent.in_game ? agent.x : INFINITY;
  field.state[Y][self] = agent.y;
  field.state[SPEED][self] = agent.speed;
  field.state[ACCELERATION][self] = agent.acceleration;
  field.state[DIRECTION][self] = agent.direction;
  field.in_game[self] = agent.in_game;
  field.is_tagged[self] = false;
}

// The rest of a field in which all agents are shared, or will be before the next barrier.
__device__ void begin(Field& field) {
  for (int i = NUM_AGENTS + lane(); i < PADDED; i += num_lanes()) {
    field.state[X][i] = INFINITY;
    field.state[Y][i] = 0.0f;
  }
  for (int tagger = lane(); tagger < TAGGER_COUNT; tagger += num_lanes()) field.tags[tagger] = 0;
  if (lane() == 0) field.num_tagged = 0;
  if (IN_CELLS) empty(field.cells);
}

// ---- who is near ----------------------------------------------------------------------------------------------------
// The tagger nearest to a place, the lowest index among equals; one not nearer than `margin` may be any.
__device__ Tagger nearest_tagger(const Field& field, float grid_length, float margin, float x, float y) {
  if constexpr (TAGGERS_BY_CELLS)
    return nearest_tagger_within(field.cells, grid_of(grid_length), x, y, __float_as_int(margin * margin));
  Tagger nearest{0, FAR};
  GPU_UNROLL(4)
  for (int id = 0; id < TAGGER_COUNT; ++id) nearest.key = min(nearest.key, distance_key(field.places(), id, x, y));
  if (nearest.key >= __float_as_int(margin * margin)) return nearest;
  while (distance_key(field.places(), nearest.id, x, y) != nearest.key) ++nearest.id;
  return nearest;
}

__device__ void see_nobody(int self, uint16_t* nearest) {
  GPU_UNROLL(4)
  for (int i = 0; i < NEAREST; ++i) nearest[i] = (uint16_t)self;
}

// Finds the agents in the columns of an agent's observation; one that is out of the game sees no other. The cells are
// filled.
__device__ void find_nearest(const Field& field, float grid_length, int self, uint16_t* nearest) {
  if (!field.in_game[self]) {
    see_nobody(self, nearest);
  } else if constexpr (SHORTLISTED) {
    search_shortly(field.cells, grid_of(grid_length), field.cells.slot_of[self], nearest);
  } else if constexpr (BY_CELLS) {
    Found found;
    search(field.cells, grid_of(grid_length), field.cells.slot_of[self], found);
    write(found, self, nearest);
  } else {
    nearest_of(field.places(), self, field.state[X][self], field.state[Y][self], nearest);
  }
}

// ---- observations ---------------------------------------------------------------------------------------------------
// What observations are scaled by.
struct View {
  float scale[NUM_DIFFERENCES];
  float side, time;
};

struct Lengths {
  float grid_length, max_speed;
};

__device__ View view_of(const Lengths& lengths, float time) {
  const float place = 1.0f / (SQRT_2 * lengths.grid_length), speed = 1.0f / (lengths.max_speed + 1e-10f);
  return View{{place, place, speed, speed, 1.0f / TWO_PI}, 1.0f / lengths.grid_length, time};
}

// What the blocks of an agent's observation say of an agent; of itself, in columns without anybody, they say nothing.
__device__ float difference(const Field& field, float scale, int self, int block, int other) {
  if (!field.in_game[self]) return 0.0f;
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

__device__ void write_own_row(const Field& field, const View& view, int self, const uint16_t* nearest,
                              float* __restrict__ row) {
  for (int block = 0; block < NUM_BLOCKS; ++block) {
    GPU_UNROLL(4)
    for (int column = 0; column < (FULL ? self : COLUMNS); ++column)
      *row++ = seen(field, view, self, block, FULL ? column : other_in(nearest, self, column));
    for (int other = self + 1; FULL && other < NUM_AGENTS; ++other) *row++ = seen(field, view, self, block, other);
  }
  for (int entry = 0; entry <= OWN; ++entry) *row++ = own(field, view, self, entry);
}

// How many lanes share a row, so that few are left without one and neighbouring lanes write neighbouring numbers.
constexpr int lanes_of_row(int parts) { return (OBSERVATION_SIZE + parts - 1) / parts; }
constexpr int busy(int parts) {  // entries that are written at a time, in the mean
  return lanes_of_row(parts) > MOST_LANES ? MOST_LANES : MOST_LANES / lanes_of_row(parts) * OBSERVATION_SIZE / parts;
}
constexpr int best_parts(int parts, int best) {
  return parts > 4 ? best : best_parts(parts + 1, 16 * busy(parts) > 17 * busy(best) ? parts : best);
}
constexpr int LANES_OF_ROW = lanes_of_row(best_parts(2, 1)) < MOST_LANES ? lanes_of_row(best_parts(2, 1)) : MOST_LANES;

constexpr int ROWS_UNROLLED = FULL || IS_CROWD ? 1 : 2;

// Writes rows, each lane a few entries of many of them: what an entry is about then stays the same in its loop, and no
// lane waits for another. agent_of(i) is the agent of row i, and list i has its columns.
template <class AgentOf>
__device__ void write_rows_together(const Field& field, const View& view, float* __restrict__ rows, int count,
                                    AgentOf agent_of) {
  constexpr int width = LANES_OF_ROW, rows_at_a_time = MOST_LANES / width;
  const int first = lane() / width;
  if (first >= rows_at_a_time) return;
  for (int entry = lane() % width; entry < OBSERVATION_SIZE; entry += width) {
    const int block = entry / COLUMNS, column = entry % COLUMNS;
    const bool is_difference = block < NUM_DIFFERENCES;
    const float* values = field.state[is_difference ? block : 0];
    const float scale = block < SPEED ? view.scale[X] : block < DIRECTION ? view.scale[SPEED] : view.scale[DIRECTION];
    const int end = block == IS_TAGGER ? TAGGER_COUNT : NUM_AGENTS;  // of those of whom an entry says 1
    GPU_UNROLL(ROWS_UNROLLED)
    for (int i = first; i < count; i += rows_at_a_time) {
      const int self = agent_of(i);
      float value;
      if (block < NUM_BLOCKS) {
        const int other = other_in(field.nearest[FULL ? 0 : i], self, column);
        const bool sees = !FULL ? other != self : block == IS_TAGGER || field.in_game[is_difference ? self : other];
        value = is_difference ? (values[other] - values[self]) * scale : (float)(other < end);
        value = sees ? value : 0.0f;
      } else {
        value = own(field, view, self, entry - NUM_BLOCKS * COLUMNS);
      }
      rows[self * OBSERVATION_SIZE + entry] = value;
    }
  }
}

// Writes the rows of those out of the game, who see nothing.
__device__ void write_empty_rows(const Field& field, float* __restrict__ rows) {
  constexpr int width = MOST_LANES < 32 ? MOST_LANES : 32, rows_at_a_time = MOST_LANES / width;
  if (lane() / width >= rows_at_a_time) return;
  for (int agent = lane() / width; agent < NUM_AGENTS; agent += rows_at_a_time) {
    if (field.in_game[agent]) continue;
    for (int entry = lane() % width; entry < OBSERVATION_SIZE; entry += width)
      rows[agent * OBSERVATION_SIZE + entry] = 0.0f;
  }
}

// Writes all rows where lanes run side by side: finds the nearest of some agents, and then writes these agents' rows.
// Those out of the game are in no cell.
__device__ void write_rows_in_parts(Field& field, const Lengths& lengths, float time, float* __restrict__ rows) {
  const Cells& cells = field.cells;
  const auto agent_in = [&](int i) { return IN_CELLS ? (int)cells.agents[i] : i; };
  const int end = IN_CELLS ? num_somewhere(cells) : NUM_AGENTS;
  if (IN_CELLS) write_empty_rows(field, rows);
  for (int first = 0; first < end; first += PART) {
    const int count = min(PART, end - first);
    if (first > 0) sync_env();  // orders the reading of the lists before they are written anew
    for (int i = lane(); i < count; i += num_lanes())
      find_nearest(field, lengths.grid_length, agent_in(first + i), field.nearest[i]);
    sync_env();  // orders the lists before their reading
    write_rows_together(field, view_of(lengths, time), rows, count, [&](int i) { return agent_in(first + i); });
    if (PART == NUM_AGENTS) return;
  }
}

// Writes the env's rows of observations. Where lanes take turns each agent is sought the nearest of just before.
__device__ void write_rows(Field& field, const Lengths& lengths, float time, float* observations) {
  float* rows = observations + (int64_t)env_id() * NUM_AGENTS * OBSERVATION_SIZE;
  if constexpr (TOGETHER && FULL) {
    write_rows_together(field, view_of(lengths, time), rows, NUM_AGENTS, [](int i) { return i; });
  } else if constexpr (TOGETHER) {
    write_rows_in_parts(field, lengths, time, rows);
  } else {
    const View view = view_of(lengths, time);
    for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
      uint16_t nearest[NEAREST];
      if constexpr (!FULL) find_nearest(field, lengths.grid_length, agent, nearest);
      write_own_row(field, view, agent, nearest, rows + agent * OBSERVATION_SIZE);
    }
  }
}

// ---- a step ---------------------------------------------------------------------------------------------------------
// What agents do, and by which tables.
struct Orders {
  const int* actions;
  const float *acceleration_actions, *turn_actions;
  int num_acceleration_levels, num_turn_levels;
};

__device__ void move(Field& field, const Agents& agents, const Orders& orders, const Rules& rules, float* rewards,
                     int self) {
  const int i = index_of(self);
  const bool is_tagger = self < TAGGER_COUNT;
  Agent agent = agents.load(i);
  agent = moved(agent, change_of(orders.acceleration_actions, orders.actions[2 * i], orders.num_acceleration_levels),
                change_of(orders.turn_actions, orders.actions[2 * i + 1], orders.num_turn_levels),
                rules.max_speed * (is_tagger ? rules.skill_level_tagger : rules.skill_level_runner));
  float reward = 0.0f;
  if (agent.in_game) {
    reward = is_tagger ? rules.step_penalty_for_tagger : rules.step_reward_for_runner;
    if (stopped_by_edge(agent, rules.grid_length)) reward += rules.edge_hit_penalty;
  }
  agents.store(i, agent);
  share(field, agent, self);
  rewards[i] = reward;
}

// Tags a runner that a tagger is near.
__device__ void try_to_tag(Field& field, const Rules& rules, int self) {
  if (!field.in_game[self] || self < TAGGER_COUNT) return;
  const float margin = rules.tagging_distance * rules.grid_length;
  const Tagger tagger = nearest_tagger(field, rules.grid_length, margin, field.state[X][self], field.state[Y][self]);
  if (tagger.key >= __float_as_int(margin * margin)) return;
  atomicAdd(&field.tags[tagger.id], 1);
  atomicAdd(&field.num_tagged, 1);
  field.is_tagged[self] = true;
}

// Pays a runner that is tagged, or in the game at the time limit.
__device__ void judge(Field& field, const Agents& agents, const Ends& ends, const Rules& rules, bool is_last,
                      float* rewards, int self) {
  const int i = index_of(self);
  const bool in_game = field.in_game[self], tagged = field.is_tagged[self];
  if (tagged)
    rewards[i] += rules.tag_penalty_for_runner;
  else if (in_game && is_last && self >= TAGGER_COUNT)
    rewards[i] += rules.end_of_game_reward_for_runner;
  const bool leaves = tagged && rules.runner_exits_game_after_tagged;
  if (leaves) agents.still_in_the_game[i] = 0;
  ends.agent_mask[i] = in_game;
  ends.agent_terminated[i] = leaves;
}

__device__ void end_step(const Field& field, const Ends& ends, const Rules& rules, int* num_runners) {
  const int env = env_id(), left = num_runners[env] - (rules.runner_exits_game_after_tagged ? field.num_tagged : 0);
  num_runners[env] = left;
  ends.terminated[env] = left == 0;
  ends.truncated[env] = ends.timestep[env] >= rules.episode_length && left != 0;
}

extern "C" __global__ void step(Agents agents, Orders orders, int* num_runners, float* observations, float* rewards,
                                Ends ends, Rules rules, unsigned char* crowd) {
  if (!is_active()) return;  // guard
  Field& field = shared_field(crowd);
  const int first = lane(), stride = num_lanes(), now = ends.timestep[env_id()];
  for (int agent = first; agent < NUM_AGENTS; agent += stride) move(field, agents, orders, rules, rewards, agent);
  begin(field);
  sync_env();  // orders the field and the counters of tags before their use
  if (IN_CELLS) fill(field.cells, grid_of(rules.grid_length), field.places());
  for (int i = first; i < (SHORTLISTED ? num_somewhere(field.cells) : NUM_AGENTS); i += stride)
    try_to_tag(field, rules, SHORTLISTED ? field.cells.agents[i] : i);
  sync_env();  // orders the counts of tags before their reading
  for (int agent = first; agent < NUM_AGENTS; agent += stride)
    judge(field, agents, ends, rules, now >= rules.episode_length, rewards, agent);

  for (int tagger = first; tagger < TAGGER_COUNT; tagger += stride)
    rewards[index_of(tagger)] += (float)field.tags[tagger] * rules.tag_reward_for_tagger;
  if (first == 0) end_step(field, ends, rules, num_runners);
  const float time = (float)ends.timestep[env_id()] / (float)rules.episode_length;
  write_rows(field, Lengths{rules.grid_length, rules.max_speed}, time, observations);
}

// ---- starts ---------------------------------------------------------------------------------------------------------
__device__ void place(Field& field, const Agents& agents, const Agent& agent, int self) {
  const int i = index_of(self);
  agents.store(i, agent);
  agents.still_in_the_game[i] = 1;
  share(field, agent, self);
}

// What both ways to start have in common, once the agents are placed.
__device__ void start_episode(Field& field, int* num_runners, float* observations, float grid_length, float max_speed) {
  begin(field);
  if (lane() == 0) num_runners[env_id()] = RUNNER_COUNT;
  sync_env();  // orders the field before its use
  if (IN_CELLS) fill(field.cells, grid_of(grid_length), field.places());
  write_rows(field, Lengths{grid_length, max_speed}, 0.0f, observations);
}

__device__ Agent standing(float x, float y, float direction) { return Agent{x, y, 0.0f, direction, 0.0f, true}; }

// Places a runner: up to START_DRAWS places are drawn; if all are within the taggers' reach (which then covers most of the
// square), it gets the one farthest from any. Places are kept in memory, which spares a GPU's registers.
__device__ void place_runner(Field& field, const Agents& agents, float grid_length, float margin, int self) {
  Random random = Random::of(self);
  place(field, agents, standing(0.0f, 0.0f, QUARTER_TURN * (float)random.below(4)), self);
  int farthest = -1;
  for (int draw = 0; draw < START_DRAWS && farthest < __float_as_int(margin * margin); ++draw) {
    const float x = random.uniform() * grid_length, y = random.uniform() * grid_length;
    const int key = nearest_tagger(field, grid_length, margin, x, y).key;
    if (key <= farthest) continue;
    farthest = key;
    field.state[X][self] = x;
    field.state[Y][self] = y;
  }
  agents.loc_x[index_of(self)] = field.state[X][self];
  agents.loc_y[index_of(self)] = field.state[Y][self];
}

// Starts anywhere in the square, runners out of the taggers' reach.
extern "C" __global__ void reset(Agents agents, int* num_runners, float* observations, float grid_length,
                                 float max_speed, float tagging_distance, unsigned char* crowd) {
  if (!is_active()) return;  // guard
  Field& field = shared_field(crowd);
  const float margin = tagging_distance * grid_length;
  for (int tagger = lane(); tagger < TAGGER_COUNT; tagger += num_lanes()) {
    Random random = Random::of(tagger);
    const float direction = QUARTER_TURN * (float)random.below(4), x = random.uniform() * grid_length;
    place(field, agents, standing(x, random.uniform() * grid_length, direction), tagger);
  }
  if (TAGGERS_BY_CELLS) {
    for (int runner = TAGGER_COUNT + lane(); runner < NUM_AGENTS; runner += num_lanes())
      field.state[X][runner] = INFINITY;  // in no cell yet
    empty(field.cells);
  }
  sync_env();  // orders the taggers' places before the runners seek theirs
  if (TAGGERS_BY_CELLS) fill(field.cells, grid_of(grid_length), field.places());
  for (int runner = TAGGER_COUNT + lane(); runner < NUM_AGENTS; runner += num_lanes())
    place_runner(field, agents, grid_length, margin, runner);
  if (TAGGERS_BY_CELLS) sync_env();  // orders the looks at the cells of taggers before those of all agents
  start_episode(field, num_runners, observations, grid_length, max_speed);
}

// Starts in given places, the same for every env and episode.
extern "C" __global__ void reset_fixed(Agents agents, int* num_runners, const float* start_x, const float* start_y,
                                       const float* start_direction, float* observations, float grid_length,
                                       float max_speed, unsigned char* crowd) {
  if (!is_active()) return;  // guard
  Field& field = shared_field(crowd);
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    place(field, agents, standing(start_x[agent], start_y[agent], start_direction[agent]), agent);
  start_episode(field, num_runners, observations, grid_length, max_speed);
}

// Taggers steer for the nearest runner in the game, runners away from the nearest tagger, at speed.
extern "C" __global__ void greedy(Played played, Chase chase, const float* acceleration_actions,
                                  const float* turn_actions, int num_acceleration_levels, int num_turn_levels) {
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    if (!plays(played, agent)) continue;
    const float turn = turn_of(chase, to_nearest(chase, agent), agent);
    float* logits = speed_up(outputs_of(played, agent), acceleration_actions, num_acceleration_levels + 1);
    for (int level = 0; level <= num_turn_levels; ++level)
      logits[level] = -SHARPNESS * fabsf(turn_actions[level] - turn);
  }
}
