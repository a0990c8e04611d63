// The table of a game of Hanabi: cards, hands and what is known of them, fireworks, tokens and the last move.
// Loops of moves and of what is seen are not unrolled: unrolled, they spill registers.
#pragma once

#include <warpworld.cuh>

constexpr int PLAYERS = NUM_AGENTS;
constexpr int HAND = HAND_SIZE > 0 ? HAND_SIZE : PLAYERS < 4 ? 5 : 4;
constexpr int KINDS = COLORS * RANKS;  // a card's kind is RANKS * colour + rank

// Cards of a rank in each colour.
__host__ __device__ constexpr int copies(int rank) {
  return rank == 0 ? LOWEST_RANK_COPIES : rank == RANKS - 1 ? 1 : 2;
}

constexpr int DECK = COLORS * (LOWEST_RANK_COPIES + (RANKS > 1 ? 2 * RANKS - 3 : 0));
constexpr int NO_CARD = DECK;    // in a hand
constexpr unsigned SHOWN = 128;  // of what is known: this very colour or rank was revealed

// Choices: to discard each card of the hand, to play each, to reveal a colour or a rank to each of the others.
constexpr int FIRST_PLAY = HAND, FIRST_COLOR = 2 * HAND, FIRST_RANK = FIRST_COLOR + (PLAYERS - 1) * COLORS;
constexpr int CHOICES = FIRST_RANK + (PLAYERS - 1) * RANKS, NO_CHOICE = -1;
constexpr unsigned SCORED = 1, GAINED = 2;  // what a card that is played may do

struct Game {
  unsigned char *deck, *hands, *known_colors, *known_ranks, *fireworks, *discards, *last_card, *last_outcome, *color_order;
  int *dealt, *to_move, *turns_left, *information, *lives, *score, *last_choice, *last_greedy, *greedy_choice;
};

// Where a player's cards are, in hands and in what is known of them.
__device__ int first_card(int player) { return (PLAYERS * env_id() + player) * HAND; }

__device__ unsigned char* deck_of(const Game& game) { return game.deck + env_id() * DECK; }

__device__ unsigned char* fireworks_of(const Game& game) { return game.fireworks + env_id() * COLORS; }

__device__ unsigned char* discards_of(const Game& game) { return game.discards + env_id() * KINDS; }

// Whether a player holds a card at a place of its hand: places fill from the first on.
__device__ bool holds(const Game& game, int player, int place) { return game.hands[first_card(player) + place] != NO_CARD; }

// The kind of a card that a player holds.
__device__ int kind_of(const Game& game, int player, int place) { return deck_of(game)[game.hands[first_card(player) + place]]; }

// The player at a distance, clockwise.
__device__ int player_at(int player, int offset) { return (player + offset) % PLAYERS; }

// Where a player sees the colours: in other-play each has an order of its own, which the arrays of the game do not know.
__device__ const unsigned char* order_of(const Game& game, int player) {
  return game.color_order + (PLAYERS * env_id() + player) * COLORS;
}

// A colour, or a kind of cards, as a player sees it.
__device__ int color_seen(const Game& game, int player, int color) {
  return OTHER_PLAY ? order_of(game, player)[color] : color;
}

__device__ int kind_seen(const Game& game, int player, int kind) {
  return color_seen(game, player, kind / RANKS) * RANKS + kind % RANKS;
}

// What a choice reveals, and to whom: a colour or a rank to the player at an offset of 1 or more.
struct Hint {
  bool is_rank;
  int offset, value;
};

__device__ Hint hint_of(int choice) {
  const bool is_rank = choice >= FIRST_RANK;
  const int values = is_rank ? RANKS : COLORS, number = choice - (is_rank ? FIRST_RANK : FIRST_COLOR);
  return Hint{is_rank, 1 + number / values, number % values};
}

// The choice of a player in the game's colours.
__device__ int choice_meant(const Game& game, int player, int choice) {
  if (!OTHER_PLAY || choice < FIRST_COLOR || choice >= FIRST_RANK) return choice;
  const Hint hint = hint_of(choice);
  int color = 0;
  while (order_of(game, player)[color] != hint.value) ++color;
  return choice - hint.value + color;
}

// A choice as another player sees it.
__device__ int choice_seen(const Game& game, int player, int choice) {
  if (choice < FIRST_COLOR || choice >= FIRST_RANK) return choice;
  const int color = hint_of(choice).value;
  return choice - color + color_seen(game, player, color);
}

// The places of cards that a hint to a player is about, a bit for each.
__device__ unsigned touched(const Game& game, int player, const Hint& hint) {
  unsigned places = 0;
#pragma unroll 1
  for (int place = 0; place < HAND; ++place) {
    if (!holds(game, player, place)) continue;
    const int kind = kind_of(game, player, place), value = hint.is_rank ? kind % RANKS : kind / RANKS;
    places |= (unsigned)(value == hint.value) << place;
  }
  return places;
}

// Whether a player whose turn it is may make a choice. A hint must be about a card at least.
__device__ bool is_legal(const Game& game, int player, int choice) {
  if (choice < FIRST_PLAY) return game.information[env_id()] < MAX_INFORMATION_TOKENS && holds(game, player, choice);
  if (choice < FIRST_COLOR) return holds(game, player, choice - FIRST_PLAY);
  const Hint hint = hint_of(choice);
  return game.information[env_id()] > 0 && touched(game, player_at(player, hint.offset), hint) != 0;
}
