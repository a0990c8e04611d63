// Phantom tic-tac-toe: players see no mark of the other's but those that they have run into. Arrays as in board.cuh, and
// tries (envs, 2, ROWS, COLUMNS), the number of a player's try of a cell, 0 for none; observations (envs, 2, TRIES + 1,
// ROWS, COLUMNS) a plane for each of a player's tries in turn, then the cells that had the other's mark; action_mask
// (envs, 2, CHOICES) the cells that the player who moves next has not tried, none of the other one.
constexpr int ROWS = 3, COLUMNS = 3, CHOICES = ROWS * COLUMNS, LINE = 3, TRIES = CHOICES;

#include "board.cuh"

__device__ unsigned char* tries_of_this_player(unsigned char* tries) { return tries + NUM_CELLS * (size_t)agent_index(); }

__device__ bool is_refused(const unsigned char* cells, const unsigned char* tries, int cell) {
  return tries[cell] != 0 && cells[cell] == PLAYERS - agent_id();
}

// Writes what this thread's player knows, and what it may do.
__device__ void show(const Board& board, unsigned char* all_tries, const Seen& seen) {
  const unsigned char *cells = cells_of_this_env(board), *tries = tries_of_this_player(all_tries);
  bool* planes = seen.observations + (size_t)agent_index() * (TRIES + 1) * NUM_CELLS;
  bool* mask = seen.action_mask + (size_t)agent_index() * CHOICES;
  const bool moves = board.to_move[env_id()] == agent_id();
  for (int cell = 0; cell < NUM_CELLS; ++cell) {
    for (int k = 0; k < TRIES; ++k) planes[k * NUM_CELLS + cell] = tries[cell] == k + 1;
    planes[TRIES * NUM_CELLS + cell] = is_refused(cells, tries, cell);
    mask[cell] = moves && tries[cell] == 0;
  }
}

// Notes a try; whether the cell had not been tried.
__device__ bool note(unsigned char* tries, int tried) {
  int count = 0;
  for (int cell = 0; cell < NUM_CELLS; ++cell) count += tries[cell] != 0;
  if (tries[tried] != 0) return false;
  tries[tried] = (unsigned char)(count + 1);
  return true;
}

// This thread's player tries a cell. If it has the other's mark, nothing happens, and the player tries another one.
__device__ void try_cell(const Board& board, unsigned char* tries, const Result& result, int cell) {
  const int env = env_id();
  const bool is_new = note(tries, cell);
  if (is_refused(cells_of_this_env(board), tries, cell) && is_new) {
    result.rewards[PLAYERS * env] = result.rewards[PLAYERS * env + 1] = 0.0f;
    result.terminated[env] = false;
  } else {
    move(board, result, is_new ? cell : NO_CELL);
  }
}

extern "C" __global__ void step(Board board, unsigned char* tries, const int* actions, Result result, Seen seen) {
  if (!is_active()) return;  // guard
  if (is_to_move(board)) try_cell(board, tries_of_this_player(tries), result, actions[agent_index()]);
  sync_env();  // orders the move before both look
  show(board, tries, seen);
}

extern "C" __global__ void reset(Board board, unsigned char* tries, Seen seen) {
  if (!is_active()) return;  // guard
  unsigned char* own = tries_of_this_player(tries);
  for (int cell = 0; cell < NUM_CELLS; ++cell) own[cell] = 0;
  if (agent_id() == 0) clear(board);
  sync_env();  // orders the board before both look
  show(board, tries, seen);
}
