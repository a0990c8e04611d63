// What players of Hanabi see: the flags of the Hanabi Learning Environment's canonical encoder, and legal choices.
//
// In this order, players by their distance from the one who looks, cards of a hand from the oldest on:
//   hands        the kind of each card of each other player; then for each player, itself first, whether a card is missing
//   board        as many flags as cards are in the deck; the rank that each firework has reached; information tokens; lives
//   discards     as many flags of each kind as such cards are discarded
//   last move    who made it; play, discard, colour or rank; who got the hint, its colour, its rank, the places that it was
//                about; the place and the kind of a card that was played or discarded; whether it scored, and whether
//                playing it gained an information token; nothing before the first move
//   knowledge    of each card of each player, itself first, from hints alone: kinds that it may have, the colour and the
//                rank that were revealed
//   greedy move  with GREEDY_INPUT the choice that the player before valued most, in the order of choices
#pragma once

#include "table.cuh"

constexpr int MOVES = 4;  // play, discard, colour, rank

// Sets the first of some flags, and returns where the next ones are.
__device__ bool* thermometer(bool* seen, int count, int length) {
#pragma unroll 1
  for (int k = 0; k < length; ++k) seen[k] = k < count;
  return seen + length;
}

__device__ bool* show_hands(const Game& game, int player, bool* seen) {
#pragma unroll 1
  for (int offset = 1; offset < PLAYERS; ++offset) {
    const int other = player_at(player, offset);
#pragma unroll 1
    for (int place = 0; place < HAND; ++place, seen += KINDS) {
      if (holds(game, other, place)) seen[kind_seen(game, player, kind_of(game, other, place))] = true;
    }
  }
#pragma unroll 1
  for (int offset = 0; offset < PLAYERS; ++offset) *seen++ = !holds(game, player_at(player, offset), HAND - 1);
  return seen;
}

__device__ bool* show_board(const Game& game, int player, bool* seen) {
  seen = thermometer(seen, DECK - game.dealt[env_id()], DECK - PLAYERS * HAND);
#pragma unroll 1
  for (int color = 0; color < COLORS; ++color) {
    const int reached = fireworks_of(game)[color];
    if (reached > 0) seen[color_seen(game, player, color) * RANKS + reached - 1] = true;
  }
  seen += KINDS;
  seen = thermometer(seen, game.information[env_id()], MAX_INFORMATION_TOKENS);
  seen = thermometer(seen, game.lives[env_id()], MAX_LIFE_TOKENS);
#pragma unroll 1
  for (int color = 0; color < COLORS; ++color) {
    bool* of_color = seen + color_seen(game, player, color) * (DECK / COLORS);
    const unsigned char* count = discards_of(game) + color * RANKS;
#pragma unroll 1
    for (int rank = 0; rank < RANKS; ++rank) of_color = thermometer(of_color, count[rank], copies(rank));
  }
  return seen + DECK;
}

__device__ bool* show_last_move(const Game& game, int player, bool* seen) {
  constexpr int MOVE = PLAYERS, TARGET = MOVE + MOVES, COLOR = TARGET + PLAYERS, RANK = COLOR + COLORS;
  constexpr int TOUCHED = RANK + RANKS, PLACE = TOUCHED + HAND, CARD = PLACE + HAND, EFFECT = CARD + KINDS;
  const int choice = game.last_choice[env_id()], outcome = game.last_outcome[env_id()];
  if (choice != NO_CHOICE) {
    const int mover = player_at(game.to_move[env_id()], PLAYERS - 1), from = player_at(mover, PLAYERS - player);
    seen[from] = true;
    if (choice < FIRST_COLOR) {
      const bool is_play = choice >= FIRST_PLAY;
      seen[MOVE + !is_play] = true;
      seen[PLACE + choice % HAND] = true;
      seen[CARD + kind_seen(game, player, game.last_card[env_id()])] = true;
      seen[EFFECT] = is_play && (outcome & SCORED) != 0;
      seen[EFFECT + 1] = is_play && (outcome & GAINED) != 0;
    } else {
      const Hint hint = hint_of(choice);
      seen[MOVE + 2 + hint.is_rank] = true;
      seen[TARGET + player_at(from, hint.offset)] = true;
      seen[hint.is_rank ? RANK + hint.value : COLOR + color_seen(game, player, hint.value)] = true;
#pragma unroll 1
      for (int place = 0; place < HAND; ++place) seen[TOUCHED + place] = (outcome >> place & 1) != 0;
    }
  }
  return seen + EFFECT + 2;
}

__device__ bool* show_knowledge(const Game& game, int player, bool* seen) {
#pragma unroll 1
  for (int offset = 0; offset < PLAYERS; ++offset) {
    const int first = first_card(player_at(player, offset));
#pragma unroll 1
    for (int place = 0; place < HAND; ++place, seen += KINDS + COLORS + RANKS) {
      if (game.hands[first + place] == NO_CARD) continue;
      const unsigned colors = game.known_colors[first + place], ranks = game.known_ranks[first + place];
#pragma unroll 1
      for (int color = 0; color < COLORS; ++color) {
        const bool may_be = (colors >> color & 1) != 0;
        const int shown = color_seen(game, player, color);
#pragma unroll 1
        for (int rank = 0; rank < RANKS; ++rank) seen[shown * RANKS + rank] = may_be && (ranks >> rank & 1) != 0;
        seen[KINDS + shown] = may_be && (colors & SHOWN) != 0;
      }
#pragma unroll 1
      for (int rank = 0; rank < RANKS; ++rank) {
        seen[KINDS + COLORS + rank] = (ranks >> rank & 1) != 0 && (ranks & SHOWN) != 0;
      }
    }
  }
  return seen;
}

// The greedy choice of the player before, whose colours a player sees in an order of its own.
__device__ void show_greedy(const Game& game, int player, bool* seen) {
  const int choice = game.last_greedy[env_id()];
  if (choice >= 0 && choice < CHOICES) seen[choice_seen(game, player, choice)] = true;
}

// The choices for which is_legal is true, none while the player waits.
__device__ void show_choices(const Game& game, int player, bool* mask) {
  const bool is_own_turn = game.to_move[env_id()] == player;
  const bool may_discard = is_own_turn && game.information[env_id()] < MAX_INFORMATION_TOKENS;
  const bool may_hint = is_own_turn && game.information[env_id()] > 0;
#pragma unroll 1
  for (int place = 0; place < HAND; ++place) {
    mask[place] = may_discard && holds(game, player, place);
    mask[FIRST_PLAY + place] = is_own_turn && holds(game, player, place);
  }
#pragma unroll 1
  for (int offset = 1; offset < PLAYERS; ++offset) {
    const int other = player_at(player, offset);
    unsigned colors = 0, ranks = 0;  // in the other's hand, a bit for each
#pragma unroll 1
    for (int place = 0; place < HAND; ++place) {
      if (!holds(game, other, place)) continue;
      colors |= 1u << color_seen(game, player, kind_of(game, other, place) / RANKS);
      ranks |= 1u << kind_of(game, other, place) % RANKS;
    }
    bool *of_colors = mask + FIRST_COLOR + (offset - 1) * COLORS, *of_ranks = mask + FIRST_RANK + (offset - 1) * RANKS;
#pragma unroll 1
    for (int color = 0; color < COLORS; ++color) of_colors[color] = may_hint && (colors >> color & 1) != 0;
#pragma unroll 1
    for (int rank = 0; rank < RANKS; ++rank) of_ranks[rank] = may_hint && (ranks >> rank & 1) != 0;
  }
}

// Writes what this thread's player sees, and what it may do.
__device__ void show(const Game& game, bool* observations, bool* action_mask) {
  const int player = agent_id();
  bool* seen = observations + (size_t)agent_index() * OBSERVATION_SIZE;
  memset(seen, 0, OBSERVATION_SIZE);
  seen = show_board(game, player, show_hands(game, player, seen));
  seen = show_knowledge(game, player, show_last_move(game, player, seen));
  if (GREEDY_INPUT) show_greedy(game, player, seen);
  show_choices(game, player, action_mask + (size_t)agent_index() * CHOICES);
}
