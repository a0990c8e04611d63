// What games on a board share: two players who take turns, the stones that they see, and how a game ends.
//
// Arrays: cells (envs, ROWS, COLUMNS) 0 empty, 1 and 2 stones of the first and the second player, row by row from the top;
// to_move (envs,) 0 or 1, who moves next; observations (envs, 2, 2, ROWS, COLUMNS) a player's stones, then the other's;
// action_mask (envs, 2, CHOICES) legal moves of the player who moves next, none of the other one. Choice c is legal while
// cell c is empty. A game defines ROWS, COLUMNS, CHOICES, and LINE, as many stones in a line as win, before it includes
// this.
#pragma once

#include <warpworld.cuh>

constexpr int NUM_CELLS = ROWS * COLUMNS, PLAYERS = 2, NO_CELL = -1;

struct Board {
  unsigned char* cells;
  int* to_move;
};

struct Seen {
  bool *observations, *action_mask;
};

struct Result {
  float* rewards;
  bool* terminated;
};

__device__ unsigned char* cells_of_this_env(const Board& board) { return board.cells + NUM_CELLS * (size_t)env_id(); }

// Whether it is the turn of this thread's player; until both know, the turn must not change.
__device__ bool is_to_move(const Board& board) {
  const bool is_own_turn = board.to_move[env_id()] == agent_id();
  sync_env();
  return is_own_turn;
}

// How many stones of one colour follow each other from a cell on, which is not counted.
__device__ int run_length(const unsigned char* cells, int cell, int down, int right) {
  int row = cell / COLUMNS + down, column = cell % COLUMNS + right, count = 0;
  while (row >= 0 && row < ROWS && column >= 0 && column < COLUMNS && cells[row * COLUMNS + column] == cells[cell]) {
    row += down;
    column += right;
    ++count;
  }
  return count;
}

__device__ bool is_in_line(const unsigned char* cells, int cell, int down, int right) {
  return run_length(cells, cell, down, right) + run_length(cells, cell, -down, -right) + 1 >= LINE;
}

// Whether the stone in a cell is one of a line that wins.
__device__ bool wins(const unsigned char* cells, int cell) {
  return is_in_line(cells, cell, 0, 1) || is_in_line(cells, cell, 1, 0) || is_in_line(cells, cell, 1, 1) ||
         is_in_line(cells, cell, 1, -1);
}

__device__ bool is_full(const unsigned char* cells) {
  bool any_empty = false;
  for (int cell = 0; cell < NUM_CELLS; ++cell) any_empty |= cells[cell] == 0;
  return !any_empty;
}

// This thread's player puts a stone into a cell, and it is the other's turn. A move that is not legal has NO_CELL, and
// loses.
__device__ void move(const Board& board, const Result& result, int cell) {
  const int env = env_id(), player = agent_id();
  unsigned char* cells = cells_of_this_env(board);
  const bool is_legal = cell != NO_CELL;
  if (is_legal) cells[cell] = (unsigned char)(player + 1);
  const bool is_won = is_legal && wins(cells, cell);
  result.rewards[PLAYERS * env + player] = is_won ? 1.0f : is_legal ? 0.0f : -1.0f;
  result.rewards[PLAYERS * env + 1 - player] = is_won ? -1.0f : 0.0f;
  result.terminated[env] = is_won || !is_legal || is_full(cells);
  board.to_move[env] = 1 - player;
}

// Writes what this thread's player sees, and what it may do.
__device__ void show(const Board& board, const Seen& seen) {
  const unsigned char* cells = cells_of_this_env(board);
  const int player = agent_id();
  bool *own = seen.observations + (size_t)agent_index() * PLAYERS * NUM_CELLS, *others = own + NUM_CELLS;
  for (int cell = 0; cell < NUM_CELLS; ++cell) {
    own[cell] = cells[cell] == player + 1;
    others[cell] = cells[cell] == PLAYERS - player;
  }
  const bool moves = board.to_move[env_id()] == player;
  bool* mask = seen.action_mask + (size_t)agent_index() * CHOICES;
  for (int choice = 0; choice < CHOICES; ++choice) mask[choice] = moves && cells[choice] == 0;
}

__device__ void clear(const Board& board) {
  unsigned char* cells = cells_of_this_env(board);
  for (int cell = 0; cell < NUM_CELLS; ++cell) cells[cell] = 0;
  board.to_move[env_id()] = 0;
}

// The player whose turn it is puts a stone into a cell; then both look. The other player's cell counts for nothing.
__device__ void take_turn(const Board& board, const Result& result, const Seen& seen, int cell) {
  if (is_to_move(board)) move(board, result, cell);
  sync_env();  // orders the move before both look
  show(board, seen);
}

// An empty board, on which the first player moves, and at which both look.
__device__ void begin(const Board& board, const Seen& seen) {
  if (agent_id() == 0) clear(board);
  sync_env();  // orders the board before both look
  show(board, seen);
}
