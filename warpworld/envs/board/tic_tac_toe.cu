// Tic-tac-toe: players mark cells, and three in a line win. Arrays as in board.cuh.
constexpr int ROWS = 3, COLUMNS = 3, CHOICES = ROWS * COLUMNS, LINE = 3;

#include "board.cuh"

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
