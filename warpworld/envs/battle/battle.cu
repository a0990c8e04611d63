// Two armies on a grid by MAgent's rules: soldiers walk, strike those beside them, recover and die.
//
// The world keeps who stands where, so that a soldier's step costs the same however many there are. cells (envs,
// side * side) is the map with its walls and a margin as wide as a view: EMPTY, a soldier, WALL or OUTSIDE, and between
// two barriers a claim; side is map_size + 2 * VIEW_RADIUS. planes (envs, 4, side * side) has the bytes that views show of
// each cell: 255 where a red soldier stands, and its hp, then the same of blue.
//
// Arrays, each with an entry for every soldier: place (envs, agents) index into cells, -1 once dead; hp; kills, of this
// episode; rewards; agent_mask; agent_terminated; observations (envs, agents, 5, V, V), see look(). blows and first are
// all 0 between steps: how many strikes a soldier got, and the highest claim of those who struck. left (envs, 2) counts
// the living of both armies. Lane 0 writes terminated, truncated, red_won and turn (envs,), see order().
// Read: actions (envs, agents, 1); reach (actions, 3), how far along x and y each reaches and whether it strikes;
// circle (V, ROW), all bits where a soldier sees, else none; walls (side * side,), all bits where one is; formation
// (agents, 2) and slack (1,), see reset().
//
// A step: all strikes land at once, on those who stood there when the step began, and those whose hp falls below 0 die.
// Then all walk at once, to cells that are empty by then. The lanes of an env share its soldiers: each lane takes every
// num_lanes()-th, in each of the phases between barriers.
#include <warpworld.cuh>

constexpr int VIEW = 2 * VIEW_RADIUS + 1, PLANE = VIEW * VIEW;
constexpr int CHUNK = 16;                         // bytes of a row of a view that a lane copies at once
constexpr int ROW = VIEW < CHUNK ? CHUNK : VIEW;  // of circle
constexpr int orders_for(int agents) { return agents <= 1024 ? 1024 : 2 * orders_for((agents + 1) / 2); }
constexpr int ORDERS = orders_for(NUM_AGENTS);  // at least NUM_AGENTS, a power of two
// What a cell holds; a soldier's has the flag of its army and its number. A claim is 1 .. ORDERS.
constexpr int EMPTY = 0, RED = 2 * ORDERS, BLUE = RED << 1, WALL = RED << 2, OUTSIDE = RED << 3;

struct Field {
  int* cells;
  unsigned char* planes;
  int* place;
  float* hp;
  int* left;
  int map_size;
  float max_hp;
};

struct Sight {
  unsigned char* observations;
  const unsigned char* circle;
  const unsigned char* walls;
};

struct Orders {
  const int* actions;
  const int* reach;
  int* turn;
};

struct Strikes {
  const float* damage;
  const float* step_recover;
  int* blows;
  int* first;
};

struct Pay {
  float* rewards;
  int* kills;
  float step_reward, attack_penalty, attack_opponent_reward, kill_reward, dead_penalty;
};

struct Ends {
  const int* timestep;
  bool* agent_mask;
  bool* agent_terminated;
  bool* red_won;
  bool* terminated;
  bool* truncated;
  int episode_length;
};

__device__ int index_of(int agent) { return env_id() * NUM_AGENTS + agent; }
__device__ int army_of(int agent) { return agent >= BLUE_FIRST; }
__device__ int flag_of(int army) { return army == 0 ? RED : BLUE; }
// Blue sees and walks the map from its own side: x grows towards where the enemy starts.
__device__ int facing(int agent) { return army_of(agent) == 0 ? 1 : -1; }
__device__ int side_of(const Field& field) { return field.map_size + 2 * VIEW_RADIUS; }
__device__ int* cells_of(const Field& field) {
  return field.cells + (size_t)env_id() * (size_t)(side_of(field) * side_of(field));
}

// The planes of an env: an army's soldiers, and behind them their hp.
__device__ unsigned char* planes_of(const Field& field, int army) {
  const int cells = side_of(field) * side_of(field);
  return field.planes + (size_t)(4 * env_id() + 2 * army) * (size_t)cells;
}

// What a cell holds where this soldier stands.
__device__ int soldier(int agent) { return flag_of(army_of(agent)) | agent; }

// Shows a soldier to all who see its cell, or a cell that it leaves.
__device__ void show(const Field& field, int agent, int cell, bool is_there) {
  unsigned char* plane = planes_of(field, army_of(agent));
  const float hp = field.hp[index_of(agent)] / field.max_hp * 255.0f + 0.5f;
  plane[cell] = (unsigned char)(is_there ? 255 : 0);
  plane[side_of(field) * side_of(field) + cell] = (unsigned char)(is_there ? (int)hp : 0);
}

// Who comes first where two compete: every step turns the order anew, so that no soldier and no army is favoured.
__device__ int order(int agent, int turn) { return agent ^ turn; }
__device__ int claim_of(int agent, const Orders& orders) { return ORDERS - order(agent, orders.turn[env_id()]); }

// ---- sight ----------------------------------------------------------------------------------------------------------
// Views show walls, their own army, its hp, the enemy and its hp, in a circle.
__device__ const unsigned char* plane_of(const Field& field, const Sight& sight, int plane, int army) {
  const int cells = side_of(field) * side_of(field);
  if (plane == 0) return sight.walls;
  return planes_of(field, plane < 3 ? army : 1 - army) + (plane - 1) % 2 * cells;
}

// Copies N bytes of a row, from the left or from the right. More are read, so that a compiler takes them all at once.
template <bool MIRRORED, int N>
__device__ void copy_chunk(const unsigned char* line, const unsigned char* circle, unsigned char* row) {
  unsigned char copied[CHUNK];
  for (int k = 0; k < CHUNK; ++k) copied[k] = line[MIRRORED ? -k : k] & circle[k];
  memcpy(row, copied, N);
}

// Copies a plane of a view. A narrow row's chunk runs over into the next row, which is copied later.
template <bool MIRRORED>
__device__ void copy_plane(const unsigned char* line, int side, const unsigned char* circle, unsigned char* plane) {
  constexpr int forward = MIRRORED ? -1 : 1;
  constexpr int last = VIEW >= CHUNK ? VIEW : PLANE < CHUNK ? 0 : (PLANE - CHUNK) / VIEW + 1;  // first that may not
  for (int y = 0; y < last; ++y, line += side, circle += ROW, plane += VIEW) {
    for (int k = 0; k + CHUNK <= VIEW; k += CHUNK)
      copy_chunk<MIRRORED, CHUNK>(line + forward * k, circle + k, plane + k);
    constexpr int rest = VIEW < CHUNK ? 0 : VIEW - CHUNK;
    if (VIEW % CHUNK != 0) copy_chunk<MIRRORED, CHUNK>(line + forward * rest, circle + rest, plane + rest);
  }
  for (int y = last; y < VIEW; ++y, line += side, circle += ROW, plane += VIEW)
    copy_chunk<MIRRORED, VIEW < CHUNK ? VIEW : CHUNK>(line, circle, plane);
}

// Writes what a soldier sees. The dead see nothing.
__device__ void look(const Field& field, const Sight& sight, int agent) {
  unsigned char* seen = sight.observations + (size_t)index_of(agent) * OBSERVATION_SIZE;
  const int place = field.place[index_of(agent)], side = side_of(field), army = army_of(agent);
  if (place < 0) {
    for (int k = 0; k < OBSERVATION_SIZE; ++k) seen[k] = 0;
    return;
  }
  for (int plane = 0; plane < 5; ++plane) {
    const unsigned char* line = plane_of(field, sight, plane, army) + place - VIEW_RADIUS * side;
    if (army == 0)
      copy_plane<false>(line - VIEW_RADIUS, side, sight.circle, seen + plane * PLANE);
    else
      copy_plane<true>(line + VIEW_RADIUS, side, sight.circle, seen + plane * PLANE);
  }
}

// ---- strikes --------------------------------------------------------------------------------------------------------
struct Choice {
  int offset;  // how many cells away
  bool strikes;
};

__device__ Choice choice_of(const Field& field, const Orders& orders, int agent) {
  const int* reached = orders.reach + 3 * orders.actions[index_of(agent)];
  return Choice{reached[1] * side_of(field) + facing(agent) * reached[0], reached[2] != 0};
}

// Index of the enemy that a soldier strikes, -1 if there is none.
__device__ int target_of(const Field& field, const Choice& choice, int agent) {
  const int from = field.place[index_of(agent)];
  if (from < 0 || !choice.strikes) return -1;
  const int cell = cells_of(field)[from + choice.offset];
  return cell & flag_of(1 - army_of(agent)) ? index_of(cell & ORDERS - 1) : -1;
}

// A soldier's hp after all strikes, before it recovers; below 0 it dies.
__device__ float hp_after(const Field& field, const Strikes& strikes, int i) {
  return field.hp[i] - strikes.damage[env_id()] * (float)strikes.blows[i];
}

__device__ void strike(const Field& field, const Orders& orders, const Strikes& strikes, int agent) {
  const int target = target_of(field, choice_of(field, orders, agent), agent);
  if (target < 0) return;
  atomicAdd(&strikes.blows[target], 1);
  atomicMax(&strikes.first[target], claim_of(agent, orders));
}

// Rewards a soldier for what it did and suffered, while all hp are those from before the strikes.
__device__ void reward(const Field& field, const Orders& orders, const Strikes& strikes, const Pay& pay, int agent) {
  const int i = index_of(agent);
  const Choice choice = choice_of(field, orders, agent);
  const int target = target_of(field, choice, agent);
  const bool lives = field.place[i] >= 0, dies = lives && hp_after(field, strikes, i) < 0.0f;
  const bool kills = target >= 0 && strikes.first[target] == claim_of(agent, orders) &&
                     hp_after(field, strikes, target) < 0.0f;
  float reward = dies ? pay.dead_penalty : pay.step_reward + (choice.strikes ? pay.attack_penalty : 0.0f);
  if (target >= 0) reward += kills ? pay.kill_reward : pay.attack_opponent_reward;
  pay.rewards[i] = lives ? reward : 0.0f;
  pay.kills[i] += kills;
}

// Takes the strikes from a soldier's hp; it recovers, or leaves the map.
__device__ void suffer(const Field& field, const Strikes& strikes, const Ends& ends, int agent) {
  const int i = index_of(agent), from = field.place[i];
  const float hp = hp_after(field, strikes, i);
  const bool lives = from >= 0, dies = lives && hp < 0.0f;
  int* cells = cells_of(field);
  if (lives) show(field, agent, from, false);
  if (dies) {
    field.hp[i] = 0.0f;
    field.place[i] = -1;
    cells[from] = EMPTY;
    atomicSub(&field.left[2 * env_id() + army_of(agent)], 1);
  } else if (lives) {
    field.hp[i] = fminf(hp + strikes.step_recover[env_id()], field.max_hp);
  }
  ends.agent_mask[i] = lives;
  ends.agent_terminated[i] = dies;
  strikes.blows[i] = 0;
  strikes.first[i] = 0;
}

// ---- walks ----------------------------------------------------------------------------------------------------------
// A soldier moves to a cell that is empty and that no one before it in the order wants: it claims the cell, stands on
// its claim if that is the highest, and then takes the cell.
__device__ void claim(const Field& field, const Orders& orders, int agent) {
  const int from = field.place[index_of(agent)];
  const Choice choice = choice_of(field, orders, agent);
  if (from < 0 || choice.strikes || choice.offset == 0) return;
  // soldiers, walls and what is outside are above all claims
  atomicMax(&cells_of(field)[from + choice.offset], claim_of(agent, orders));
}

__device__ void go(const Field& field, const Orders& orders, int agent) {
  const int i = index_of(agent), from = field.place[i];
  const Choice choice = choice_of(field, orders, agent);
  if (from < 0 || choice.strikes || choice.offset == 0) return;
  const int to = from + choice.offset;
  if (cells_of(field)[to] == claim_of(agent, orders)) field.place[i] = to;
}

__device__ void arrive(const Field& field, const Orders& orders, int agent) {
  const int at = field.place[index_of(agent)];
  int* cells = cells_of(field);
  if (at < 0) return;
  show(field, agent, at, true);
  if (cells[at] > ORDERS) return;  // where it stood before
  int& from = cells[at - choice_of(field, orders, agent).offset];
  cells[at] = from;
  from = EMPTY;
}

__device__ void end_step(const Field& field, const Ends& ends) {
  const int env = env_id(), red = field.left[2 * env], blue = field.left[2 * env + 1];
  ends.red_won[env] = red > blue;
  ends.terminated[env] = red == 0 || blue == 0;
  ends.truncated[env] = red > 0 && blue > 0 && ends.timestep[env] >= ends.episode_length;
}

// ---- kernels --------------------------------------------------------------------------------------------------------
extern "C" __global__ void step(Field field, Sight sight, Strikes strikes, Pay pay, Ends ends, Orders orders) {
  if (!is_active()) return;  // guard
  const int first = lane(), stride = num_lanes();
  for (int agent = first; agent < NUM_AGENTS; agent += stride) strike(field, orders, strikes, agent);
  sync_env();  // all strikes have landed
  for (int agent = first; agent < NUM_AGENTS; agent += stride) reward(field, orders, strikes, pay, agent);
  sync_env();  // all have seen the hp from before the strikes, and who was struck
  for (int agent = first; agent < NUM_AGENTS; agent += stride) suffer(field, strikes, ends, agent);
  sync_env();  // the dead have left
  for (int agent = first; agent < NUM_AGENTS; agent += stride) claim(field, orders, agent);
  sync_env();  // all have claimed
  for (int agent = first; agent < NUM_AGENTS; agent += stride) go(field, orders, agent);
  sync_env();  // all know whether they go, and have read the turn
  for (int agent = first; agent < NUM_AGENTS; agent += stride) arrive(field, orders, agent);
  if (first == 0) {
    end_step(field, ends);
    orders.turn[env_id()] = (int)Random::env().below(ORDERS);
  }
  sync_env();  // all stand where they will be seen
  for (int agent = first; agent < NUM_AGENTS; agent += stride)
    if (ends.agent_mask[index_of(agent)]) look(field, sight, agent);
}

// Both armies take up their formation, each at a height of its own: `formation` has columns and rows, of which `slack`
// more fit the map.
extern "C" __global__ void reset(Field field, Sight sight, int* kills, bool* red_won, int* turn, const int* formation,
                                 const int* slack) {
  if (!is_active()) return;  // guard
  const int env = env_id(), side = side_of(field);
  const int low = VIEW_RADIUS, high = VIEW_RADIUS + field.map_size - 1;  // the walls
  int* cells = cells_of(field);
  for (int k = lane(); k < side * side; k += num_lanes()) {
    const int x = k % side, y = k / side;
    const bool is_outside = x < low || x > high || y < low || y > high;
    const bool is_wall = x == low || x == high || y == low || y == high;
    cells[k] = is_outside ? OUTSIDE : is_wall ? WALL : EMPTY;
    for (int plane = 0; plane < 4; ++plane) planes_of(field, 0)[plane * side * side + k] = 0;
  }
  Random random = Random::env();  // all lanes draw the same
  const int heights[2] = {(int)random.below((unsigned)slack[0] + 1u), (int)random.below((unsigned)slack[0] + 1u)};
  const int drawn_turn = (int)random.below(ORDERS);
  sync_env();  // the map is drawn

  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int i = index_of(agent), row = low + formation[2 * agent + 1] + heights[army_of(agent)];
    field.place[i] = row * side + low + formation[2 * agent];
    field.hp[i] = field.max_hp;
    kills[i] = 0;
    cells[field.place[i]] = soldier(agent);
    show(field, agent, field.place[i], true);
  }
  if (lane() == 0) {
    field.left[2 * env] = RED_COUNT;
    field.left[2 * env + 1] = BLUE_COUNT;
    red_won[env] = false;
    turn[env] = drawn_turn;
  }
  sync_env();  // all stand where they will be seen
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) look(field, sight, agent);
}
