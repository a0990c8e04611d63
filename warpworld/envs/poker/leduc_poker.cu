// Leduc poker: three ranks in two suits, two rounds with two raises at most, and a public card in the second. Arrays as
// in poker.cuh.
constexpr int RANKS = 3, SUITS = 2, ROUNDS = 2, MOVES = 4, MOST_RAISES = 2, BET = 2, CHOICES = 3;

#include "poker.cuh"

__device__ Move move_of(int choice, bool) { return (Move)choice; }

extern "C" __global__ void step(Table table, const int* actions, Result result, Seen seen) {
  if (!is_active()) return;  // guard
  take_turn(table, result, seen, actions[agent_index()]);
}

extern "C" __global__ void reset(Table table, Seen seen) {
  if (!is_active()) return;  // guard
  begin(table, seen);
}
