// Hanabi: two to five players build a firework of each colour, rank by rank. Each sees the hands of the others alone.
//
// Rules, those of the Hanabi Learning Environment:
// - The deck has LOWEST_RANK_COPIES cards of each colour's lowest rank, one of its highest and two of each other rank. Player
//   0 gets the first HAND cards, player 1 the next ones and so on; player 0 moves first, and turns go round.
// - To discard a card gains an information token; it is legal while one is missing.
// - To play a card that is its colour's next adds it to the firework and scores 1; a firework's last card gains an information
//   token, if one is missing. Any other card is discarded, and costs a life.
// - To reveal a colour or a rank to another player costs an information token. It shows all cards of the hand that have it,
//   of which there must be one, and so that the others have not.
// - A card that leaves a hand is replaced by the deck's next one, which is the hand's last; those behind it move up.
// - The game ends when all fireworks are complete, when the last life is gone, which takes all that was scored, or after one
//   more turn of each player once the deck is empty. All players earn what the score gains.
// - A choice that is not legal ends the game as the last life does.
// - With OTHER_PLAY (Hu et al. 2020), each player sees the colours in an order of its own, which is drawn in each episode, and its
//   choices are meant in that order: players cannot agree on what a colour means.
// - With GREEDY_INPUT (Hu and Foerster 2020), all see the choice that the last player valued most, too, which differs from its
//   move where a learner explores.
//
// Arrays: deck (envs, DECK) kinds of cards, RANKS * colour + rank, in the order in which they are dealt; dealt (envs,) how many
// were; hands (envs, PLAYERS, HAND) places in the deck, the oldest card first, NO_CARD behind the last one; known_colors,
// known_ranks (envs, PLAYERS, HAND) a bit for each colour or rank that hints leave open, and SHOWN where it was revealed;
// fireworks (envs, COLORS) ranks that are complete; discards (envs, KINDS) cards of each kind; information, lives (envs,)
// tokens; turns_left (envs,) after the deck is empty; to_move (envs,) who moves next; score (envs,); last_choice (envs,) of the
// player before, or NO_CHOICE; last_card (envs,) the kind that it played or discarded; last_outcome (envs,) places that a hint
// was about, or SCORED and GAINED; greedy_choice (envs, PLAYERS) what learners value most, or -1; last_greedy (envs,) that of the
// player before; color_order (envs, PLAYERS, COLORS) where each player sees each colour, in other-play;
// observations (envs, PLAYERS, OBSERVATION_SIZE) and action_mask (envs, PLAYERS, CHOICES) of
// sight.cuh; rewards (envs, PLAYERS); terminated (envs,).
#include "sight.cuh"

struct Result {
  float* rewards;
  bool* terminated;
};

// Whether it is the turn of this thread's player; until all know, the turn must not change.
__device__ bool is_to_move(const Game& game) {
  const bool is_own_turn = game.to_move[env_id()] == agent_id();
  sync_env();  // orders what all have read before the move
  return is_own_turn;
}

// Puts the deck's next card at a place of a hand, with nothing known of it; where the deck is empty, no card.
__device__ void draw(const Game& game, int player, int place) {
  const int at = first_card(player) + place;
  const bool is_empty = game.dealt[env_id()] == DECK;
  game.hands[at] = (unsigned char)(is_empty ? NO_CARD : game.dealt[env_id()]);
  game.known_colors[at] = (unsigned char)(is_empty ? 0 : (1 << COLORS) - 1);
  game.known_ranks[at] = (unsigned char)(is_empty ? 0 : (1 << RANKS) - 1);
  if (!is_empty) game.dealt[env_id()] += 1;
}

// Takes a card out of a hand; those behind it move up, and another one is drawn. A hand lacks cards only once the deck is
// empty.
__device__ void replace(const Game& game, int player, int place) {
  const int last = first_card(player) + HAND - 1;
#pragma unroll 1
  for (int at = first_card(player) + place; at < last; ++at) {
    game.hands[at] = game.hands[at + 1];
    game.known_colors[at] = game.known_colors[at + 1];
    game.known_ranks[at] = game.known_ranks[at + 1];
  }
  draw(game, player, HAND - 1);
}

// Gains an information token if one is missing; returns whether it was.
__device__ bool gain(const Game& game) {
  const bool is_missing = game.information[env_id()] < MAX_INFORMATION_TOKENS;
  game.information[env_id()] += is_missing;
  return is_missing;
}

// Adds a card to its firework, or discards it and takes a life. Returns what it did.
__device__ unsigned play(const Game& game, int kind) {
  const int color = kind / RANKS;
  if (fireworks_of(game)[color] != kind % RANKS) {
    discards_of(game)[kind] += 1;
    game.lives[env_id()] -= 1;
    return 0;
  }
  fireworks_of(game)[color] += 1;
  game.score[env_id()] += 1;
  return SCORED | (fireworks_of(game)[color] == RANKS && gain(game) ? GAINED : 0);
}

// Tells a player which of its cards have a colour or a rank. Returns their places.
__device__ unsigned reveal(const Game& game, int player, const Hint& hint) {
  const unsigned places = touched(game, player, hint);
  unsigned char* known = (hint.is_rank ? game.known_ranks : game.known_colors) + first_card(player);
#pragma unroll 1
  for (int place = 0; place < HAND; ++place) {
    const bool has_it = (places >> place & 1) != 0;
    known[place] = (unsigned char)(has_it ? SHOWN | 1u << hint.value : known[place] & ~(1u << hint.value));
  }
  game.information[env_id()] -= 1;
  return places;
}

// Makes a legal choice.
__device__ void make(const Game& game, int player, int choice) {
  if (choice >= FIRST_COLOR) {
    const Hint hint = hint_of(choice);
    game.last_outcome[env_id()] = (unsigned char)reveal(game, player_at(player, hint.offset), hint);
    return;
  }
  const int place = choice % HAND, kind = kind_of(game, player, place);
  game.last_card[env_id()] = (unsigned char)kind;
  if (choice >= FIRST_PLAY) {
    game.last_outcome[env_id()] = (unsigned char)play(game, kind);
  } else {
    discards_of(game)[kind] += 1;
    game.last_outcome[env_id()] = gain(game) ? GAINED : 0;
  }
  replace(game, player, place);
}

// The choice that a player valued most when it moved; its own move where no learner of values says which that was.
__device__ int greedy_meant(const Game& game, int player, int chosen) {
  const int greedy = game.greedy_choice[agent_index()];
  return choice_meant(game, player, greedy < 0 ? chosen : greedy);
}

// This thread's player moves: rewards for all, and whether the game is over.
__device__ void move(const Game& game, const Result& result, int chosen) {
  const int player = agent_id(), before = game.score[env_id()], choice = choice_meant(game, player, chosen);
  if (game.dealt[env_id()] == DECK) game.turns_left[env_id()] -= 1;
  if (is_legal(game, player, choice)) {
    make(game, player, choice);
    game.last_choice[env_id()] = choice;
  } else {
    game.lives[env_id()] = 0;
    game.last_choice[env_id()] = NO_CHOICE;
  }
  game.last_greedy[env_id()] = greedy_meant(game, player, chosen);
  game.to_move[env_id()] = player_at(player, 1);
  const bool is_complete = game.score[env_id()] == KINDS;
  if (game.lives[env_id()] == 0) game.score[env_id()] = 0;
#pragma unroll 1
  for (int k = 0; k < PLAYERS; ++k) result.rewards[PLAYERS * env_id() + k] = (float)(game.score[env_id()] - before);
  result.terminated[env_id()] = is_complete || game.lives[env_id()] == 0 || game.turns_left[env_id()] == 0;
}

// All cards in a random order, each order with the same probability (Fisher and Yates).
__device__ void shuffle(unsigned char* deck) {
  Random random = Random::env();
  int filled = 0;
#pragma unroll 1
  for (int kind = 0; kind < KINDS; ++kind) {
#pragma unroll 1
    for (int copy = 0; copy < copies(kind % RANKS); ++copy) deck[filled++] = (unsigned char)kind;
  }
#pragma unroll 1
  for (int k = DECK - 1; k > 0; --k) {
    const int other = (int)random.below((unsigned)k + 1u);
    const unsigned char card = deck[k];
    deck[k] = deck[other];
    deck[other] = card;
  }
}

// The colours in an order for this thread's player, each order with the same probability.
__device__ void order_colors(const Game& game) {
  Random random = Random::of(agent_id());
  unsigned char* order = game.color_order + (size_t)agent_index() * COLORS;
#pragma unroll 1
  for (int color = 0; color < COLORS; ++color) {  // takes the place of one before it, or its own
    const int other = (int)random.below((unsigned)color + 1u);
    order[color] = (unsigned char)color;
    order[color] = order[other];
    order[other] = (unsigned char)color;
  }
}

__device__ void deal(const Game& game) {
  shuffle(deck_of(game));
  game.dealt[env_id()] = 0;
  for (int player = 0; player < PLAYERS; ++player) {
    for (int place = 0; place < HAND; ++place) draw(game, player, place);
  }
  for (int color = 0; color < COLORS; ++color) fireworks_of(game)[color] = 0;
  for (int kind = 0; kind < KINDS; ++kind) discards_of(game)[kind] = 0;
  game.information[env_id()] = MAX_INFORMATION_TOKENS;
  game.lives[env_id()] = MAX_LIFE_TOKENS;
  game.turns_left[env_id()] = PLAYERS;
  game.to_move[env_id()] = game.score[env_id()] = 0;
  game.last_choice[env_id()] = game.last_greedy[env_id()] = NO_CHOICE;
  game.last_card[env_id()] = game.last_outcome[env_id()] = 0;
}

// The player whose turn it is moves; then all look. The other players' choices count for nothing.
extern "C" __global__ void step(Game game, const int* actions, Result result, bool* observations, bool* action_mask) {
  if (!is_active()) return;  // guard
  if (is_to_move(game)) move(game, result, actions[agent_index()]);
  sync_env();  // orders the move before all look
  show(game, observations, action_mask);
}

// Shuffles and deals; all look.
extern "C" __global__ void reset(Game game, bool* observations, bool* action_mask) {
  if (!is_active()) return;  // guard
  if (agent_id() == 0) deal(game);
  if (OTHER_PLAY) order_colors(game);
  sync_env();  // orders the deal before all look
  show(game, observations, action_mask);
}
