// Kuhn poker: three cards, one round, one bet. Arrays as in poker.cuh.
constexpr int RANKS = 3, SUITS = 1, ROUNDS = 1, MOVES = 3, MOST_RAISES = 1, BET = 1, CHOICES = 2;

#include "poker.cuh"

// To pass, choice 0, is to check or to fold; to bet is to raise or to call.
__device__ Move move_of(int choice, bool owes) {
  if (choice == 0) return owes ? FOLD : CALL;
  return owes ? CALL : RAISE;
}

extern "C" __global__ void step(Table table, const int* actions, Result result, Seen seen) {
  if (!is_active()) return;  // guard
  take_turn(table, result, seen, actions[agent_index()]);
}

extern "C" __global__ void reset(Table table, Seen seen) {
  if (!is_active()) return;  // guard
  begin(table, seen);
}
