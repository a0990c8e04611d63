// Connect Four: players drop stones into columns, and four in a line win. Arrays as in board.cuh.
constexpr int ROWS = 6, COLUMNS = 7, CHOICES = COLUMNS, LINE = 4;

#include "board.cuh"

// The lowest empty cell of a column.
__device__ int landing(const unsigned char* cells, int column) {
  int cell = NUM_CELLS - COLUMNS + column;
  while (cell >= 0 && cells[cell] != 0) cell -= COLUMNS;
  return cell < 0 ? NO_CELL : cell;
}

extern "C" __global__ void step(Board board, const int* actions, Result result, Seen seen) {
  if (!is_active()) return;  // guard
  take_turn(board, result, seen, landing(cells_of_this_env(board), actions[agent_index()]));
}

extern "C" __global__ void reset(Board board, Seen seen) {
  if (!is_active()) return;  // guard
  begin(board, seen);
}
