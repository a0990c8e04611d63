// Two armies on a grid by MAgent's rules: soldiers walk, strike those beside them, recover and die.
//
// The world keeps who stands where, so that a soldier's step costs the same however many there are. cells (envs,
// side * side) is the map with its walls and a margin as wide as a view: EMPTY, a soldier, WALL or OUTSIDE, and between
// two barriers a claim; side is map_size + 2 * VIEW_RADIUS.
//
// Arrays, each with an entry for every soldier: place (envs, agents) index into cells, -1 once dead; hp; kills, of this
// episode; rewards; agent_mask; agent_terminated; observations (envs, agents, 5, V, V), see look(). blows and first are
// all 0 between steps: how many strikes a soldier got, and the highest claim of those who struck. left (envs, 2) counts
// the living of both armies. Lane 0 writes terminated, truncated, red_won and turn (envs,), see order().
// Read: actions (envs, agents, 1); reach (actions, 3), how far along x and y each reaches and whether it strikes;
// circle (V, V), all bits where a soldier sees, else none; formation (agents, 2) and slack (1,), see reset().
//
// A step: all strikes land at once, on those who stood there when the step began, and those whose hp falls below 0 die.
// Then all walk at once, to cells that are empty by then. The lanes of an env share its soldiers: each lane takes every
// num_lanes()-th, in each of the phases between barriers.
#include <warpworld.cuh>

constexpr int VIEW = 2 * VIEW_RADIUS + 1, PLANE = VIEW * VIEW;
constexpr int orders_for(int agents) { return agents <= 1024 ? 1024 : 2 * orders_for((agents + 1) / 2); }
constexpr int ORDERS = orders_for(NUM_AGENTS);  // at least NUM_AGENTS, a power of two
// What a cell holds; a soldier's has the flag of its army, its number << 8 and its hp. A claim is 1 .. ORDERS.
constexpr int EMPTY = 0, RED = ORDERS << 8, BLUE = RED << 1, WALL = RED << 2, OUTSIDE = RED << 3;

struct Field {
  int* cells;
  int* place;
  float* hp;
  int* left;
  int map_size;
  float max_hp;
};

struct Sight {
  unsigned char* observations;
  const int* circle;
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

// A cell with this soldier: who it is, and its hp of max_hp as a byte.
__device__ int soldier(int agent, float hp, float max_hp) {
  return flag_of(army_of(agent)) | agent << 8 | (int)(hp / max_hp * 255.0f + 0.5f);
}

// Who comes first where two compete: every step turns the order anew, so that no soldier and no army is favoured.
__device__ int order(int agent, int turn) { return agent ^ turn; }
__device__ int claim_of(int agent, const Orders& orders) { return ORDERS - order(agent, orders.turn[env_id()]); }

// ---- sight ----------------------------------------------------------------------------------------------------------
// Writes one row of a view in all five planes. Without branches, so that a compiler can do several cells at once.
template <bool MIRRORED>
__device__ void look_along(const int* __restrict__ middle, const int* __restrict__ circle, int own, int enemy,
                           unsigned char* __restrict__ row) {
  for (int k = 0; k < VIEW; ++k) {
    const int cell = middle[MIRRORED ? VIEW_RADIUS - k : k - VIEW_RADIUS] & circle[k];
    const int friendly = cell & own ? 255 : 0, hostile = cell & enemy ? 255 : 0;
    row[k] = (unsigned char)(cell & WALL ? 255 : 0);
    row[PLANE + k] = (unsigned char)friendly;
    row[2 * PLANE + k] = (unsigned char)(friendly & cell);
    row[3 * PLANE + k] = (unsigned char)hostile;
    row[4 * PLANE + k] = (unsigned char)(hostile & cell);
  }
}

// Writes what a soldier sees in a circle around it: walls, its own army, their hp, the enemy, their hp. The dead see
// nothing.
__device__ void look(const Field& field, const Sight& sight, int agent) {
  unsigned char* seen = sight.observations + (size_t)index_of(agent) * OBSERVATION_SIZE;
  const int place = field.place[index_of(agent)], side = side_of(field), own = flag_of(army_of(agent));
  if (place < 0) {
    for (int k = 0; k < OBSERVATION_SIZE; ++k) seen[k] = 0;
    return;
  }
  const int* middle = cells_of(field) + place;
  for (int y = 0; y < VIEW; ++y) {
    const int *line = middle + (y - VIEW_RADIUS) * side, *circle = sight.circle + y * VIEW;
    if (own == RED)
      look_along<false>(line, circle, RED, BLUE, seen + y * VIEW);
    else
      look_along<true>(line, circle, BLUE, RED, seen + y * VIEW);
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
  return cell & flag_of(1 - army_of(agent)) ? index_of(cell >> 8 & ORDERS - 1) : -1;
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
  if (dies) {
    field.hp[i] = 0.0f;
    field.place[i] = -1;
    cells[from] = EMPTY;
    atomicSub(&field.left[2 * env_id() + army_of(agent)], 1);
  } else if (lives) {
    field.hp[i] = fminf(hp + strikes.step_recover[env_id()], field.max_hp);
    cells[from] = soldier(agent, field.hp[i], field.max_hp);
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
  if (at < 0 || cells[at] > ORDERS) return;  // where it stood before
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
    cells[field.place[i]] = soldier(agent, field.max_hp, field.max_hp);
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
