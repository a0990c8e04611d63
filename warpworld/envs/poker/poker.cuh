// What games of poker share: two players with a card each, who put chips into a pot by turns.
//
// Arrays: cards (envs, DEALT) the first player's, the second's, and a public one for each round but the first; moves
// (envs, ROUNDS, MOVES) a choice plus one, 0 for none yet; round (envs,) from 0; num_moves, num_raises (envs,) of the
// round; to_move (envs,) 0 or 1, who moves next; chips (envs, 2) that each has put into the pot; observations (envs, 2,
// FLAGS) the own card, the public cards that are shown, each move of each round; action_mask (envs, 2, CHOICES) legal
// choices of the player who moves next, none of the other one. A game defines RANKS, SUITS, ROUNDS, MOVES, as many as a
// round can have, MOST_RAISES in a round, BET, which a raise of the first round adds, and CHOICES before it includes
// this, and then `move_of`.
#pragma once

#include <warpworld.cuh>

constexpr int PLAYERS = 2, DECK = RANKS * SUITS, DEALT = PLAYERS + ROUNDS - 1, ANTE = 1;
constexpr int FLAGS = ROUNDS * DECK + ROUNDS * MOVES * CHOICES;

enum Move { FOLD, CALL, RAISE };  // to call where nothing is owed is to check

struct Table {
  unsigned char *cards, *moves;
  int *round, *num_moves, *num_raises, *to_move, *chips;
};

struct Seen {
  bool *observations, *action_mask;
};

struct Result {
  float* rewards;
  bool* terminated;
};

// The game's own: the move that a choice is.
__device__ Move move_of(int choice, bool owes);

// Only those fold who owe something.
__device__ bool is_legal(Move move, bool owes, int num_raises) {
  return move == FOLD ? owes : move == CALL || num_raises < MOST_RAISES;
}

__device__ unsigned char* cards_of_this_env(const Table& table) { return table.cards + DEALT * (size_t)env_id(); }

__device__ unsigned char* moves_of_this_env(const Table& table) {
  return table.moves + ROUNDS * MOVES * (size_t)env_id();
}

// Whether a player has put less into the pot than the other.
__device__ bool owes(const Table& table, int player) {
  const int* chips = table.chips + PLAYERS * env_id();
  return chips[player] < chips[1 - player];
}

// Whether it is the turn of this thread's player; until both know, the turn must not change.
__device__ bool is_to_move(const Table& table) {
  const bool is_own_turn = table.to_move[env_id()] == agent_id();
  sync_env();
  return is_own_turn;
}

// The worth of a player's card at the end: a pair with a public card beats any rank.
__device__ int strength(const unsigned char* cards, int player) {
  const int rank = cards[player] / SUITS;
  bool is_paired = false;
  for (int k = PLAYERS; k < DEALT; ++k) is_paired |= cards[k] / SUITS == rank;
  return is_paired ? RANKS + rank : rank;
}

// The chips of the player who loses go to the winner; of equal cards neither wins.
__device__ void pay(const Table& table, const Result& result, int winner) {
  const int first = PLAYERS * env_id(), loser = first + 1 - winner;
  result.rewards[first + winner] = (float)table.chips[loser];
  result.rewards[loser] = (float)-table.chips[loser];
  result.terminated[env_id()] = true;
}

__device__ void show_down(const Table& table, const Result& result) {
  const unsigned char* cards = cards_of_this_env(table);
  const int difference = strength(cards, 0) - strength(cards, 1);
  if (difference != 0) pay(table, result, difference > 0 ? 0 : 1);
  result.terminated[env_id()] = true;
}

// After a call or a check: the other moves, the next round begins, or cards are compared.
__device__ void call(const Table& table, const Result& result) {
  const int env = env_id(), player = agent_id();
  int* chips = table.chips + PLAYERS * env;
  chips[player] = chips[1 - player];
  if (table.num_moves[env] < 2) {
    table.to_move[env] = 1 - player;
  } else if (table.round[env] + 1 < ROUNDS) {
    table.round[env] += 1;
    table.num_moves[env] = table.num_raises[env] = table.to_move[env] = 0;
  } else {
    show_down(table, result);
  }
}

// Puts in what is owed, and a bet on top; bets double from round to round.
__device__ void raise(const Table& table) {
  const int env = env_id(), player = agent_id();
  int* chips = table.chips + PLAYERS * env;
  chips[player] = chips[1 - player] + (BET << table.round[env]);
  table.num_raises[env] += 1;
  table.to_move[env] = 1 - player;
}

// This thread's player moves. A choice that is not legal folds.
__device__ void move(const Table& table, const Result& result, int choice) {
  const int env = env_id(), player = agent_id();
  const bool is_owing = owes(table, player);
  const Move move = move_of(choice, is_owing);
  const bool legal = is_legal(move, is_owing, table.num_raises[env]);
  moves_of_this_env(table)[MOVES * table.round[env] + table.num_moves[env]] = (unsigned char)(choice + 1);
  table.num_moves[env] += 1;
  result.rewards[PLAYERS * env] = result.rewards[PLAYERS * env + 1] = 0.0f;
  result.terminated[env] = false;
  if (!legal || move == FOLD) {
    pay(table, result, 1 - player);
  } else if (move == CALL) {
    call(table, result);
  } else {
    raise(table);
  }
}

// Writes what this thread's player sees, and what it may do.
__device__ void show(const Table& table, const Seen& seen) {
  const unsigned char *cards = cards_of_this_env(table), *moves = moves_of_this_env(table);
  const int env = env_id(), player = agent_id();
  bool* flags = seen.observations + (size_t)agent_index() * FLAGS;
  for (int card = 0; card < DECK; ++card) *flags++ = cards[player] == card;
  for (int k = 1; k < ROUNDS; ++k) {
    for (int card = 0; card < DECK; ++card) *flags++ = table.round[env] >= k && cards[PLAYERS + k - 1] == card;
  }
  for (int k = 0; k < ROUNDS * MOVES; ++k) {
    for (int choice = 0; choice < CHOICES; ++choice) *flags++ = moves[k] == choice + 1;
  }
  const bool is_moving = table.to_move[env] == player, is_owing = owes(table, player);
  bool* mask = seen.action_mask + (size_t)agent_index() * CHOICES;
  for (int choice = 0; choice < CHOICES; ++choice) {
    mask[choice] = is_moving && is_legal(move_of(choice, is_owing), is_owing, table.num_raises[env]);
  }
}

__device__ bool is_dealt(const unsigned char* cards, int count, int card) {
  bool is_found = false;
  for (int k = 0; k < count; ++k) is_found |= cards[k] == card;
  return is_found;
}

// Different cards, all with the same probability.
__device__ void deal(unsigned char* cards) {
  Random random = Random::env();
  for (int k = 0; k < DEALT; ++k) {
    int skipped = (int)random.below((uint32_t)(DECK - k)), card = 0;  // of the cards that are left
    while (is_dealt(cards, k, card) || skipped-- > 0) ++card;
    cards[k] = (unsigned char)card;
  }
}

__device__ void clear(const Table& table) {
  const int env = env_id();
  unsigned char* moves = moves_of_this_env(table);
  for (int k = 0; k < ROUNDS * MOVES; ++k) moves[k] = 0;
  table.round[env] = table.num_moves[env] = table.num_raises[env] = table.to_move[env] = 0;
  table.chips[PLAYERS * env] = table.chips[PLAYERS * env + 1] = ANTE;
  deal(cards_of_this_env(table));
}

// The player whose turn it is moves; then both look. The other player's choice counts for nothing.
__device__ void take_turn(const Table& table, const Result& result, const Seen& seen, int choice) {
  if (is_to_move(table)) move(table, result, choice);
  sync_env();  // orders the move before both look
  show(table, seen);
}

// New cards and an ante of both, at which both look.
__device__ void begin(const Table& table, const Seen& seen) {
  if (agent_id() == 0) clear(table);
  sync_env();  // orders the deal before both look
  show(table, seen);
}
