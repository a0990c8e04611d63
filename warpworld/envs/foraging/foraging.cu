// Level-based foraging: players load food next to them if the sum of the loaders' levels reaches the food's.
//
// Arrays: field (envs, rows * cols) level of the food on each cell; food_row, food_col, food_level (envs, max_num_food);
// food_spawned (envs,) sum of levels at the start; row, col, level (envs, players); observations and action_mask, see
// foraging.cuh. Loops run over agents and food, so that any number of threads will do.
#include "foraging.cuh"

// What a player tries: to be on a cell, and to load the food on another one, or -1.
struct Intent {
  int cell, food;
};

__device__ Intent intent_of(int action, const unsigned char* field, int row, int col) {
  const Around food = around(field, row, col);
  const int here = cell_at(row, col);
  if (action < NONE || action > LOAD || !(valid_choices(food, row, col) >> action & 1u)) return Intent{here, -1};
  if (action == LOAD)
    return Intent{here, food.north ? here - COLS : food.south ? here + COLS : food.west ? here - 1 : here + 1};
  return Intent{here + COLS * ((action == SOUTH) - (action == NORTH)) + (action == EAST) - (action == WEST), -1};
}

// What a loader earns: nothing but the penalty where the sum of levels is too low.
__device__ float earned(int level, int needed, int sum, int spawned, bool normalize_reward, float penalty) {
  if (sum < needed) return 0.0f - penalty;
  return normalize_reward ? (float)(level * needed) / (float)(sum * spawned) : (float)(level * needed);
}

extern "C" __global__ void step(Food food, Players players, Seen seen, const int* actions, float* rewards,
                                bool* agent_mask, const int* timestep, bool* terminated, bool* truncated,
                                const float* penalty, bool normalize_reward, int episode_length) {
  if (!is_active()) return;                    // guard
  ENV_SHARED(int, claims, CELLS);              // of a free cell: who wants it; of one with food: levels of its loaders
  ENV_SHARED(Intent, intents, NUM_AGENTS);
  const int env = env_id(), first = env * NUM_AGENTS, first_food = env * MAX_NUM_FOOD;
  unsigned char* field = food.field + (size_t)env * CELLS;

  for (int cell = lane(); cell < CELLS; cell += num_lanes()) claims[cell] = 0;
  sync_env();  // every claim is 0 before any is made
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int i = first + agent, level = players.level[i];
    if (level == 0) continue;
    const Intent intent = intents[agent] = intent_of(actions[i], field, players.row[i], players.col[i]);
    atomicAdd(&claims[intent.cell], 1);
    if (intent.food >= 0) atomicAdd(&claims[intent.food], level);
  }
  sync_env();  // every claim is made before any is read

  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int i = first + agent, level = players.level[i];
    agent_mask[i] = level > 0;
    rewards[i] = 0.0f;
    if (level == 0) continue;
    const Intent intent = intents[agent];
    if (claims[intent.cell] == 1) {  // nobody moves to a cell that two want
      players.row[i] = (short)(intent.cell / COLS);
      players.col[i] = (short)(intent.cell % COLS);
    }
    if (intent.food >= 0)
      rewards[i] = earned(level, field[intent.food], claims[intent.food], food.food_spawned[env], normalize_reward,
                          penalty[env]);
  }
  sync_env();  // rewards are paid before food is gone
  for (int f = first_food + lane(); f < first_food + MAX_NUM_FOOD; f += num_lanes()) {
    const int cell = cell_at(food.food_row[f], food.food_col[f]);
    if (food.food_level[f] > 0 && claims[cell] >= food.food_level[f]) food.food_level[f] = field[cell] = 0;
  }
  sync_env();  // players and food are where they will be seen, and claims are done with
  look(food, players, seen, claims);
  if (lane() == 0) {
    bool is_left = false;
    for (int f = first_food; f < first_food + MAX_NUM_FOOD; ++f) is_left |= food.food_level[f] > 0;
    terminated[env] = !is_left;
    truncated[env] = is_left && timestep[env] >= episode_length;
  }
}

// Food needs room: no other food in the eight cells around it, nor two cells along its row and column.
__device__ bool has_room(const unsigned char* field, int row, int col) {
  for (int y = max(row - 1, 0); y <= min(row + 1, ROWS - 1); ++y)
    for (int x = max(col - 1, 0); x <= min(col + 1, COLS - 1); ++x)
      if (field[cell_at(y, x)] > 0) return false;
  for (int away = -2; away <= 2; away += 4) {
    if (row + away >= 0 && row + away < ROWS && field[cell_at(row + away, col)] > 0) return false;
    if (col + away >= 0 && col + away < COLS && field[cell_at(row, col + away)] > 0) return false;
  }
  return true;
}

constexpr int ATTEMPTS = 1000;  // to find a cell, as in the original

// The levels from which those of food are drawn. A most of 0 stands for the sum of the three lowest levels of players.
struct Levels {
  int min_player_level, max_player_level, min_food_level, max_food_level;
};

// Puts players on random cells of their own. Returns the sum of the three lowest levels.
__device__ int spawn_players(const Players& players, int present, const Levels& levels, int* taken, Random& random) {
  const int first = env_id() * NUM_AGENTS;
  int lowest[3] = {0, 0, 0}, found = 0;
  for (int agent = 0; agent < present; ++agent) {
    int cell = (int)random.below(CELLS);
    for (int attempt = 1; taken[cell] && attempt < ATTEMPTS; ++attempt) cell = (int)random.below(CELLS);
    while (taken[cell]) cell = (cell + 1) % CELLS;
    taken[cell] = 1;
    int level = levels.min_player_level + (int)random.below((unsigned)(levels.max_player_level - levels.min_player_level) + 1u);
    players.row[first + agent] = (short)(cell / COLS);
    players.col[first + agent] = (short)(cell % COLS);
    players.level[first + agent] = (unsigned char)level;
    for (int k = 0; k < 3; ++k) {  // keeps the three lowest in order
      if (k < found && lowest[k] <= level) continue;
      const int higher = lowest[k];
      lowest[k] = level;
      level = higher;
    }
    found = min(found + 1, 3);
  }
  return lowest[0] + lowest[1] + lowest[2];
}

// Puts food on random cells that have room for it, as much as is found in ATTEMPTS.
__device__ void spawn_food(unsigned char* field, int amount, int least, int most, const int* taken, Random& random) {
  for (int count = 0, attempt = 0; count < amount && attempt < ATTEMPTS; ++attempt) {
    const int row = 1 + (int)random.below(ROWS - 2), col = 1 + (int)random.below(COLS - 2);
    if (taken[cell_at(row, col)] || !has_room(field, row, col)) continue;
    field[cell_at(row, col)] = (unsigned char)(least + (int)random.below((unsigned)(most - least) + 1u));
    ++count;
  }
}

// Lists the food of a field in the order of cells.
__device__ void list_food(const Food& food, const unsigned char* field) {
  const int first_food = env_id() * MAX_NUM_FOOD, end = first_food + MAX_NUM_FOOD;
  int f = first_food, spawned = 0;
  for (int cell = 0; cell < CELLS && f < end; ++cell) {
    if (field[cell] == 0) continue;
    food.food_row[f] = (short)(cell / COLS);
    food.food_col[f] = (short)(cell % COLS);
    food.food_level[f++] = field[cell];
    spawned += field[cell];
  }
  for (; f < end; ++f) {
    food.food_row[f] = food.food_col[f] = 0;
    food.food_level[f] = 0;
  }
  food.food_spawned[env_id()] = spawned;
}

extern "C" __global__ void reset(Food food, Players players, Seen seen, Levels levels, const int* present_players,
                                 const int* present_food, const bool* force_coop) {
  if (!is_active()) return;  // guard
  ENV_SHARED(int, taken, CELLS);
  const int env = env_id(), first = env * NUM_AGENTS;
  unsigned char* field = food.field + (size_t)env * CELLS;
  for (int cell = lane(); cell < CELLS; cell += num_lanes()) taken[cell] = field[cell] = 0;
  for (int i = first + lane(); i < first + NUM_AGENTS; i += num_lanes()) {
    players.row[i] = players.col[i] = -1;
    players.level[i] = 0;
  }
  sync_env();  // the field is empty before anything is put on it
  if (lane() == 0) {
    Random random = Random::env();
    const int present = present_players[env] > 0 ? present_players[env] : NUM_AGENTS;
    const int three = spawn_players(players, present, levels, taken, random);
    const int most = max(levels.max_food_level > 0 ? levels.max_food_level : three, levels.min_food_level);
    const int amount = present_food[env] > 0 ? present_food[env] : MAX_NUM_FOOD;
    spawn_food(field, amount, force_coop[env] ? most : levels.min_food_level, most, taken, random);
    list_food(food, field);
  }
  sync_env();  // players and food are where they will be seen
  look(food, players, seen, taken);
}
