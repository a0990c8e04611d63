// Tic-tac-toe: players mark cells, and three in a line win. Arrays as in board.cuh.
constexpr int ROWS = 3, COLUMNS = 3, CHOICES = ROWS * COLUMNS, LINE = 3;

#include <script.cuh>

#include "board.cuh"

constexpr float SHARPNESS = 50.0f;  // of logits: a move that is not among the best is drawn once in e^50 times
constexpr int POSITIONS = 19683;  // a position's number has a digit to the base of three for each cell
__device__ unsigned short BEST_MOVES[POSITIONS];  // bits of cells, from perfect.py

// The cell that is chosen, if it is empty.
__device__ int marked(const unsigned char* cells, int cell) { return cells[cell] == 0 ? cell : NO_CELL; }

extern "C" __global__ void step(Board board, const int* actions, Result result, Seen seen) {
  if (!is_active()) return;  // guard
  take_turn(board, result, seen, marked(cells_of_this_env(board), actions[agent_index()]));
}

extern "C" __global__ void reset(Board board, Seen seen) {
  if (!is_active()) return;  // guard
  begin(board, seen);
}

// A player that never loses; of moves that are equally good chance chooses.
extern "C" __global__ void perfect(Played played, Board board) {
  if (!plays(played, agent_id())) return;
  const unsigned char* cells = cells_of_this_env(board);
  int position = 0;
  for (int cell = CHOICES - 1; cell >= 0; --cell) position = 3 * position + cells[cell];
  float* logits = outputs_of(played, agent_id());
  for (int cell = 0; cell < CHOICES; ++cell) logits[cell] = BEST_MOVES[position] >> cell & 1 ? SHARPNESS : 0.0f;
}
