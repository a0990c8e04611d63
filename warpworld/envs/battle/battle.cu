// Two armies on a grid by MAgent's rules: soldiers walk, strike those beside them, recover and die.
//
// The world keeps who stands where, so that a soldier's step costs the same however many there are. cells (envs,
// side * side) is the map with its walls and a margin as wide as a view: EMPTY, a soldier, WALL or OUTSIDE, and between
// two barriers a claim; side is map_size + 2 * VIEW_RADIUS.
//
// Arrays, of which each soldier writes its own entries: place (envs, agents) index into cells, -1 once dead; hp; kills,
// of this episode; rewards; agent_mask; agent_terminated; observations (envs, agents, 5, V, V), see look(). left (envs,
// 2) counts the living of both armies. Agent 0 writes terminated, truncated, red_won and turn (envs,), see order().
// Read: actions (envs, agents, 1); reach (actions, 3), how far along x and y each reaches and whether it strikes;
// circle (V, V), all bits where a soldier sees, else none; formation (agents, 2) and slack (1,), see reset().
//
// A step: all strikes land at once, on those who stood there when the step began, and those whose hp falls below 0 die.
// Then all walk at once, to cells that are empty by then.
#include <warpworld.cuh>

constexpr int VIEW = 2 * VIEW_RADIUS + 1, PLANE = VIEW * VIEW;
constexpr int ORDERS = 1024;  // at least NUM_AGENTS, a power of two
// What a cell holds; a soldier's has the flag of its army, its number << 8 and its hp. A claim is 1 .. ORDERS.
constexpr int EMPTY = 0, RED = 1 << 18, BLUE = 1 << 19, WALL = 1 << 20, OUTSIDE = 1 << 21;

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

struct Strikes {
  const float* damage;
  const float* step_recover;
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

__device__ int army_of(int agent) { return agent >= BLUE_FIRST; }
__device__ int own_army() { return army_of(agent_id()); }
// Blue sees and walks the map from its own side: x grows towards where the enemy starts.
__device__ int facing() { return own_army() == 0 ? 1 : -1; }
__device__ int side_of(const Field& field) { return field.map_size + 2 * VIEW_RADIUS; }
__device__ int* cells_of(const Field& field) {
  return field.cells + (size_t)env_id() * (size_t)(side_of(field) * side_of(field));
}

__device__ int flag_of(int army) { return army == 0 ? RED : BLUE; }

// A cell with this soldier: who it is, and its hp of max_hp as a byte.
__device__ int soldier(float hp, float max_hp) {
  return flag_of(own_army()) | agent_id() << 8 | (int)(hp / max_hp * 255.0f + 0.5f);
}

// Who comes first where two compete: every step turns the order anew, so that no soldier and no army is favoured.
__device__ int order(int turn) { return agent_id() ^ turn; }

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

// Writes what this soldier sees in a circle around it: walls, its own army, their hp, the enemy, their hp. The dead see
// nothing.
__device__ void look(const Field& field, const Sight& sight) {
  unsigned char* seen = sight.observations + (size_t)agent_index() * OBSERVATION_SIZE;
  const int place = field.place[agent_index()], side = side_of(field), own = flag_of(own_army());
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

// The enemy in a cell, -1 if there is none.
__device__ int enemy_in(int cell) {
  return cell & flag_of(1 - own_army()) ? cell >> 8 & ORDERS - 1 : -1;
}

// Moves this soldier to a cell that is empty and that no one before it in the order wants. Has two barriers.
__device__ void walk(const Field& field, int* cells, bool walks, int to, int claim) {
  const int i = agent_index(), from = field.place[i];
  if (walks) atomicMax(&cells[to], claim);  // soldiers, walls and what is outside are above all claims
  sync_env();                               // all have claimed
  const bool wins = walks && cells[to] == claim;
  sync_env();  // all know whether they go
  if (!wins) return;
  cells[to] = cells[from];
  cells[from] = EMPTY;
  field.place[i] = to;
}

extern "C" __global__ void step(Field field, Sight sight, Strikes strikes, Pay pay, Ends ends, const int* actions,
                                const int* reach, int* turn) {
  if (!is_active()) return;  // guard
  ENV_SHARED(float, hp_before, NUM_AGENTS);
  ENV_SHARED(int, blows, NUM_AGENTS);
  ENV_SHARED(int, first, NUM_AGENTS);
  const int agent = agent_id(), i = agent_index(), env = env_id(), from = field.place[i];
  const bool lives = from >= 0;
  const int claim = ORDERS - order(turn[env]);
  const float damage = strikes.damage[env];
  int* cells = cells_of(field);
  hp_before[agent] = field.hp[i];
  blows[agent] = 0;
  first[agent] = 0;
  sync_env();  // all are ready to be struck

  const int* reached = reach + 3 * actions[i];
  const bool strikes_out = lives && reached[2] != 0;
  const int to = from + reached[1] * side_of(field) + facing() * reached[0];
  const int target = strikes_out ? enemy_in(cells[to]) : -1;
  if (target >= 0) {
    atomicAdd(&blows[target], 1);
    atomicMax(&first[target], claim);
  }
  sync_env();  // all strikes have landed

  const float hp = hp_before[agent] - damage * (float)blows[agent];
  const bool dies = lives && hp < 0.0f;
  const bool kills =
      target >= 0 && first[target] == claim && hp_before[target] - damage * (float)blows[target] < 0.0f;
  float reward = dies ? pay.dead_penalty : pay.step_reward + (strikes_out ? pay.attack_penalty : 0.0f);
  if (target >= 0) reward += kills ? pay.kill_reward : pay.attack_opponent_reward;
  pay.rewards[i] = lives ? reward : 0.0f;
  pay.kills[i] += kills;
  if (dies) {
    field.hp[i] = 0.0f;
    field.place[i] = -1;
    cells[from] = EMPTY;
    atomicSub(&field.left[2 * env + own_army()], 1);
  } else if (lives) {
    field.hp[i] = fminf(hp + strikes.step_recover[env], field.max_hp);
    cells[from] = soldier(field.hp[i], field.max_hp);
  }
  sync_env();  // the dead have left

  walk(field, cells, lives && !dies && !strikes_out && to != from, to, claim);
  ends.agent_mask[i] = lives;
  ends.agent_terminated[i] = dies;
  if (agent == 0) {
    const int red = field.left[2 * env], blue = field.left[2 * env + 1];
    ends.red_won[env] = red > blue;
    ends.terminated[env] = red == 0 || blue == 0;
    ends.truncated[env] = red > 0 && blue > 0 && ends.timestep[env] >= ends.episode_length;
    turn[env] = (int)Random::env().below(ORDERS);
  }
  sync_env();  // all stand where they will be seen
  if (lives) look(field, sight);
}

// Both armies take up their formation, each at a height of its own: `formation` has columns and rows, of which `slack`
// more fit the map.
extern "C" __global__ void reset(Field field, Sight sight, int* kills, bool* red_won, int* turn, const int* formation,
                                 const int* slack) {
  if (!is_active()) return;  // guard
  const int agent = agent_id(), i = agent_index(), env = env_id(), side = side_of(field);
  const int low = VIEW_RADIUS, high = VIEW_RADIUS + field.map_size - 1;  // the walls
  int* cells = cells_of(field);
  for (int k = agent; k < side * side; k += NUM_AGENTS) {
    const int x = k % side, y = k / side;
    const bool is_outside = x < low || x > high || y < low || y > high;
    const bool is_wall = x == low || x == high || y == low || y == high;
    cells[k] = is_outside ? OUTSIDE : is_wall ? WALL : EMPTY;
  }
  Random random = Random::env();  // all agents draw the same
  const int heights[2] = {(int)random.below((unsigned)slack[0] + 1u), (int)random.below((unsigned)slack[0] + 1u)};
  const int drawn_turn = (int)random.below(ORDERS);
  sync_env();  // the map is drawn

  field.place[i] = (low + formation[2 * agent + 1] + heights[own_army()]) * side + low + formation[2 * agent];
  field.hp[i] = field.max_hp;
  kills[i] = 0;
  cells[field.place[i]] = soldier(field.max_hp, field.max_hp);
  if (agent == 0) {
    field.left[2 * env] = RED_COUNT;
    field.left[2 * env + 1] = BLUE_COUNT;
    red_won[env] = false;
    turn[env] = drawn_turn;
  }
  sync_env();  // all stand where they will be seen
  look(field, sight);
}
