// A field with food on it, the players around it, and what each of them sees and may do.
#pragma once

#include <warpworld.cuh>

constexpr int CELLS = ROWS * COLS;
enum Choice { NONE, NORTH, SOUTH, WEST, EAST, LOAD, CHOICES };
enum Layer { PLAYERS, FOOD, FREE };  // of a grid observation
constexpr int FOOD_ENTRIES = 3 * MAX_NUM_FOOD, PLAYER_ENTRIES = OBSERVE_AGENT_LEVELS ? 3 : 2;  // of a list

// Food is kept twice: by cell, and as a list in the order of cells, whose level is 0 once it is loaded.
struct Food {
  unsigned char* field;
  short* food_row;
  short* food_col;
  unsigned char* food_level;
  int* food_spawned;
};

// A player that is absent has level 0 and stands at (-1, -1).
struct Players {
  short* row;
  short* col;
  unsigned char* level;
};

struct Seen {
  float* observations;
  bool* action_mask;
};

__device__ int cell_at(int row, int col) { return row * COLS + col; }

// The levels of food on the cells around one; 0 outside of the field.
struct Around {
  int north, south, west, east;
};

__device__ Around around(const unsigned char* field, int row, int col) {
  const unsigned char* here = field + cell_at(row, col);
  return Around{row > 0 ? here[-COLS] : 0, row < ROWS - 1 ? here[COLS] : 0, col > 0 ? here[-1] : 0,
                col < COLS - 1 ? here[1] : 0};
}

// The choices that do something, a bit for each.
__device__ unsigned valid_choices(const Around& food, int row, int col) {
  return 1u << NONE | (unsigned)(row > 0 && food.north == 0) << NORTH |
         (unsigned)(row < ROWS - 1 && food.south == 0) << SOUTH | (unsigned)(col > 0 && food.west == 0) << WEST |
         (unsigned)(col < COLS - 1 && food.east == 0) << EAST |
         (unsigned)((food.north | food.south | food.west | food.east) != 0) << LOAD;
}

// Writes the entries of one thing, and returns where the next one's are.
__device__ float* list(float* to, int y, int x, int level, int entries) {
  to[0] = (float)y;
  to[1] = (float)x;
  if (entries > 2) to[2] = (float)level;
  return to + entries;
}

// Writes the entries of nothing up to the end.
__device__ void list_nothing(float* to, const float* end, int entries) {
  for (; to < end; to += entries) {
    to[0] = to[1] = -1.0f;
    if (entries > 2) to[2] = 0.0f;
  }
}

// What may be in a window: the places and levels of food or of players, in their order.
struct Things {
  const short *row, *col;
  const unsigned char* level;
};

// Of up to 32 things from `begin` on, a bit for each with a level whose place is in a window. Without a
// branch, since processors can hardly predict who is near.
__device__ unsigned near_bits(const Things& things, int begin, int end, int top, int left, int down, int right) {
  unsigned bits = 0;
  for (int k = begin; k < end; ++k) {
    const bool is_near = ((unsigned)(things.row[k] - top) <= (unsigned)down) &
                         ((unsigned)(things.col[k] - left) <= (unsigned)right) & (things.level[k] > 0);
    bits |= (unsigned)is_near << (k - begin);
  }
  return bits;
}

// Lists what a player sees, in a window whose corner is (0, 0): food in the order of cells, then itself, then others. As
// in the original, a window at the field's edge shows players, but no food, that are farther than `sight` from its middle.
__device__ void observe_list(const Food& food, const Players& players, int i, float* seen) {
  const int env = env_id(), first = env * NUM_AGENTS, first_food = env * MAX_NUM_FOOD;
  const int row = players.row[i], col = players.col[i], top = max(row - SIGHT, 0), left = max(col - SIGHT, 0);
  const Things pieces{food.food_row + first_food, food.food_col + first_food, food.food_level + first_food};
  float* next = seen;
  for (int begin = 0; begin < MAX_NUM_FOOD; begin += 32) {
    const int end = min(begin + 32, MAX_NUM_FOOD);
    for (unsigned bits = near_bits(pieces, begin, end, top, left, row + SIGHT - top, col + SIGHT - left); bits;) {
      const int k = begin + __ffs((int)bits) - 1;
      bits &= bits - 1;
      next = list(next, pieces.row[k] - top, pieces.col[k] - left, pieces.level[k], 3);
    }
  }
  list_nothing(next, seen + FOOD_ENTRIES, 3);
  const Things crowd{players.row + first, players.col + first, players.level + first};
  next = list(seen + FOOD_ENTRIES, row - top, col - left, players.level[i], PLAYER_ENTRIES);
  for (int begin = 0; begin < NUM_AGENTS; begin += 32) {
    const int end = min(begin + 32, NUM_AGENTS), self = i - first - begin;
    unsigned bits = near_bits(crowd, begin, end, top, left, 2 * SIGHT, 2 * SIGHT);
    if (self >= 0 && self < 32) bits &= ~(1u << self);
    while (bits) {
      const int k = begin + __ffs((int)bits) - 1;
      bits &= bits - 1;
      next = list(next, crowd.row[k] - top, crowd.col[k] - left, crowd.level[k], PLAYER_ENTRIES);
    }
  }
  list_nothing(next, seen + OBSERVATION_SIZE, PLAYER_ENTRIES);
}

// Where a window always holds the whole field, all players see the same things, and their lists differ in the order of
// players alone. What they share is tabulated once, in an array that has an entry for each cell.
constexpr bool SHARES_LISTS = !GRID_OBSERVATION && SIGHT >= ROWS - 1 && SIGHT >= COLS - 1 &&
                              FOOD_ENTRIES + PLAYER_ENTRIES * NUM_AGENTS <= CELLS;

// Writes the entries of food, then those of players in order. All lanes call it.
__device__ void tabulate(const Food& food, const Players& players, int* table) {
  const int first = env_id() * NUM_AGENTS, first_food = env_id() * MAX_NUM_FOOD;
  if (lane() == 0) {
    int* next = table;
    for (int f = first_food; f < first_food + MAX_NUM_FOOD; ++f) {
      if (food.food_level[f] == 0) continue;
      next[0] = food.food_row[f];
      next[1] = food.food_col[f];
      next[2] = food.food_level[f];
      next += 3;
    }
    for (; next < table + FOOD_ENTRIES; next += 3) {
      next[0] = next[1] = -1;
      next[2] = 0;
    }
  }
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    int* to = table + FOOD_ENTRIES + PLAYER_ENTRIES * agent;
    to[0] = players.row[first + agent];
    to[1] = players.col[first + agent];
    if (OBSERVE_AGENT_LEVELS) to[2] = players.level[first + agent];
  }
  sync_env();  // the table is whole before anybody copies from it
}

__device__ bool is_anybody_absent(const Players& players) {
  const unsigned char* level = players.level + env_id() * NUM_AGENTS;
  bool found = false;
  for (int agent = 0; agent < NUM_AGENTS; ++agent) found |= level[agent] == 0;
  return found;
}

// Lists what a player sees where all are present: food, itself, those before it and those after it.
__device__ void copy_list(const int* table, int agent, float* seen) {
  const int* crowd = table + FOOD_ENTRIES;
  const int own = PLAYER_ENTRIES * agent;
  for (int k = 0; k < FOOD_ENTRIES; ++k) seen[k] = (float)table[k];
  seen += FOOD_ENTRIES;
  for (int k = 0; k < PLAYER_ENTRIES; ++k) seen[k] = (float)crowd[own + k];
  for (int k = 0; k < own; ++k) seen[PLAYER_ENTRIES + k] = (float)crowd[k];
  for (int k = own + PLAYER_ENTRIES; k < PLAYER_ENTRIES * NUM_AGENTS; ++k) seen[k] = (float)crowd[k];
}

// Marks where players stand: their level, above the bits of which is their number, so that the last of several counts.
// All lanes call it; `standing` has an entry for each cell.
__device__ void stand(const Players& players, int* standing) {
  const int first = env_id() * NUM_AGENTS;
  for (int cell = lane(); cell < CELLS; cell += num_lanes()) standing[cell] = 0;
  sync_env();  // nobody stands anywhere before anybody is marked
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int i = first + agent, level = players.level[i];
    if (level > 0) atomicMax(&standing[cell_at(players.row[i], players.col[i])], (agent + 1) << 8 | level);
  }
  sync_env();  // everybody is marked before any of them looks
}

// Draws what a player sees: levels of players, levels of food, and free cells, in a square around it.
__device__ void observe_grid(const Food& food, const Players& players, const int* standing, int i, float* seen) {
  constexpr int side = 2 * SIGHT + 1, layer = side * side;
  const unsigned char* field = food.field + (size_t)env_id() * CELLS;
  const int top = players.row[i] - SIGHT, left = players.col[i] - SIGHT;
  for (int k = 0; k < layer; ++k) {
    const int y = top + k / side, x = left + k % side;
    const bool is_inside = y >= 0 && y < ROWS && x >= 0 && x < COLS;
    const int cell = is_inside ? cell_at(y, x) : 0, level = is_inside ? field[cell] : 0;
    const int player = is_inside ? standing[cell] & 0xFF : 0;
    seen[PLAYERS * layer + k] = OBSERVE_AGENT_LEVELS ? (float)player : player > 0 ? 1.0f : 0.0f;
    seen[FOOD * layer + k] = (float)level;
    seen[FREE * layer + k] = is_inside && level == 0 && player == 0 ? 1.0f : 0.0f;
  }
}

// Writes what each player sees and may do; of an absent one zeros. All lanes call it, with an array of CELLS to work in.
__device__ void look(const Food& food, const Players& players, const Seen& seen, int* cells) {
  const int first = env_id() * NUM_AGENTS;
  if (GRID_OBSERVATION) stand(players, cells);
  if (SHARES_LISTS) tabulate(food, players, cells);
  const bool shares_lists = SHARES_LISTS && !is_anybody_absent(players);
  for (int i = first + lane(); i < first + NUM_AGENTS; i += num_lanes()) {
    float* observation = seen.observations + (size_t)i * OBSERVATION_SIZE;
    const bool is_present = players.level[i] > 0;
    const int row = players.row[i], col = players.col[i];
    unsigned choices = 1u << NONE;
    if (is_present) choices = valid_choices(around(food.field + (size_t)env_id() * CELLS, row, col), row, col);
    for (int choice = 0; choice < CHOICES; ++choice) seen.action_mask[i * CHOICES + choice] = choices >> choice & 1u;
    if (!is_present)
      for (int k = 0; k < OBSERVATION_SIZE; ++k) observation[k] = 0.0f;
    else if (GRID_OBSERVATION)
      observe_grid(food, players, cells, i, observation);
    else if (shares_lists)
      copy_list(cells, i - first, observation);
    else
      observe_list(food, players, i, observation);
  }
}
