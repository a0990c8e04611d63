// Overcooked: two cooks put three onions into a pot, wait until they are soup, plate it and serve it.
//
// Arrays: place (envs, 2) the cell of a cook, row by row; facing (envs, 2) up, down, right, left; held (envs, 2) an item;
// contents (envs, cells) the item on a counter, or how far a pot is: 23 when empty, one less for each onion, and from 20,
// when it is full, one less in each step until 0, when its soup is ready; soups (envs,) served in this episode;
// observations (envs, 2, 22, rows, columns), see show(). Read: cells (cells,) the kind of each; pots, where they are; layers
// (22, cells) what is seen of an empty kitchen; starts (2,) cells in which cooks begin; parts (cells,) a number for each
// stretch of connected floor, 0 elsewhere; shaping () the part of small rewards that counts; random_starts () the part of
// episodes that begin anywhere; lapses () how often a cook stops, and idle (envs, 2) whether it has; actions (envs, 2, 1):
// 0 up, 1 down, 2 right, 3 left, 4 nothing, 5 interact. Cook 0 acts for both, since the second meets what the first has
// done.
#include <warpworld.cuh>

constexpr int FLOOR = 0, COUNTER = 1, POT = 2, ONION_PILE = 3, PLATE_PILE = 4, SERVING = 5;  // kinds of cells
constexpr int NOTHING = 0, ONION = 1, PLATE = 2, SOUP = 3;                                   // items
constexpr int EMPTY_POT = 23, FULL_POT = 20, READY_POT = 0;
constexpr int NUM_DIRECTIONS = 4, NO_ACTION = 4, INTERACT = 5;
constexpr float STAYS_IDLE = 0.9f;  // a lapse takes 10 steps in the mean
constexpr float FOR_DELIVERY = 20.0f, FOR_ONION = 3.0f, FOR_PLATE = 3.0f, FOR_SOUP = 5.0f;
constexpr int URGENT = 40;  // steps before the end

// Layers of an observation; the first two and the eight of directions begin with the observer's own.
constexpr int OWN_PLACE = 0, OTHER_PLACE = 1, OWN_FACING = 2, OTHER_FACING = 6, POTS = 10, COUNTERS = 11, ONION_PILES = 12,
              PLATE_PILES = 13, SERVINGS = 14, ONIONS_IN_POT = 15, ONIONS_IN_SOUP = 16, COOKING = 17, READY = 18, PLATES = 19,
              ONIONS = 20, URGENCY = 21, NUM_LAYERS = 22;
constexpr int NUM_CELLS = OBSERVATION_SIZE / NUM_LAYERS;
constexpr int FLAG = 255, PER_ONION = 85, PER_STEP = 13;  // so that a policy, which divides by 255, reads 0 to 1

__constant__ int OFFSETS[NUM_DIRECTIONS];  // to the next cell up, down, right and left
__constant__ int NUM_POTS;

struct Kitchen {
  int* place;
  int* facing;
  uint8_t* held;
  uint8_t* contents;
  const uint8_t* cells;
  const int* pots;
  const uint8_t* layers;
};

__device__ bool is_floor(const Kitchen& kitchen, int cell) { return kitchen.cells[cell] == FLOOR; }

// Whether a plate taken now is of use: a pot for each plate in hand and one more has onions, and no plate lies about.
__device__ bool is_plate_wanted(const Kitchen& kitchen) {
  const uint8_t* held = kitchen.held + env_id() * NUM_AGENTS;
  const uint8_t* contents = kitchen.contents + env_id() * NUM_CELLS;
  int plates = (held[0] == PLATE) + (held[1] == PLATE), pots = 0, left = 0;
  for (int k = 0; k < NUM_POTS; ++k) pots += contents[kitchen.pots[k]] != EMPTY_POT;
  for (int k = 0; k < NUM_CELLS; ++k) left += kitchen.cells[k] == COUNTER && contents[k] == PLATE;
  return plates < pots && left == 0;
}

// A cook uses what is in front of it, if it can: fills a pot, takes its soup, takes or leaves an item, serves. Returns
// whether it has served; small rewards are added to shaped.
__device__ bool interact(const Kitchen& kitchen, int cook, float& shaped) {
  const int i = env_id() * NUM_AGENTS + cook;
  const int cell = kitchen.place[i] + OFFSETS[kitchen.facing[i]];
  const int kind = kitchen.cells[cell], held = kitchen.held[i];
  uint8_t& content = kitchen.contents[env_id() * NUM_CELLS + cell];
  int holds = held;
  if (kind == POT) {
    if (held == ONION && content > FULL_POT) {
      content -= 1;
      holds = NOTHING;
      shaped += FOR_ONION;
    } else if (held == PLATE && content == READY_POT) {
      content = EMPTY_POT;
      holds = SOUP;
      shaped += FOR_SOUP;
    }
  } else if (held == NOTHING) {
    if (kind == ONION_PILE) holds = ONION;
    if (kind == PLATE_PILE) holds = PLATE;
    if (kind == COUNTER) holds = content;
    if (holds == PLATE && is_plate_wanted(kitchen)) shaped += FOR_PLATE;
    if (kind == COUNTER) content = NOTHING;
  } else if (kind == COUNTER && content == NOTHING) {
    content = (uint8_t)held;
    holds = NOTHING;
  } else if (kind == SERVING && held == SOUP) {
    holds = NOTHING;
  }
  kitchen.held[i] = (uint8_t)holds;
  return kind == SERVING && held == SOUP;
}

// What a cook does: what it chose, or nothing while it lapses.
__device__ int done_by(int chosen, bool& idle, float lapses, Random& random) {
  if (lapses <= 0.0f) {  // without a draw
    idle = false;
  } else {
    idle = random.uniform() < (idle ? STAYS_IDLE : lapses);
  }
  return idle ? NO_ACTION : chosen;
}

// Both move at once; they bump into what is no floor, do not share a cell and do not change places.
__device__ void move(const Kitchen& kitchen, const int* actions) {
  const int first = env_id() * NUM_AGENTS;
  int to[NUM_AGENTS];
  for (int cook = 0; cook < NUM_AGENTS; ++cook) {
    const int action = actions[cook], here = kitchen.place[first + cook];
    to[cook] = here;
    if (action >= NUM_DIRECTIONS) continue;
    kitchen.facing[first + cook] = action;
    if (is_floor(kitchen, here + OFFSETS[action])) to[cook] = here + OFFSETS[action];
  }
  const bool is_swap = to[0] == kitchen.place[first + 1] && to[1] == kitchen.place[first];
  if (to[0] == to[1] || is_swap) return;
  kitchen.place[first] = to[0];
  kitchen.place[first + 1] = to[1];
}

__device__ void simmer(const Kitchen& kitchen) {
  uint8_t* contents = kitchen.contents + env_id() * NUM_CELLS;
  for (int k = 0; k < NUM_POTS; ++k) {
    uint8_t& stage = contents[kitchen.pots[k]];
    if (stage <= FULL_POT && stage > READY_POT) stage -= 1;
  }
}

// What this cook sees: the layers above, cell by cell; the items in hands lie in the layers of items, too.
__device__ void show(const Kitchen& kitchen, uint8_t* observations, bool is_urgent) {
  uint8_t* seen = observations + (size_t)agent_index() * OBSERVATION_SIZE;
  const uint8_t* contents = kitchen.contents + env_id() * NUM_CELLS;
  memcpy(seen, kitchen.layers, OBSERVATION_SIZE);
  uint8_t items[NUM_CELLS];  // on counters; a copy, which seen cannot overlap: each of the loops below is a few vectors
  for (int k = 0; k < NUM_CELLS; ++k) items[k] = kitchen.cells[k] == COUNTER ? contents[k] : NOTHING;
  for (int k = 0; k < NUM_CELLS; ++k) seen[COUNTERS * NUM_CELLS + k] &= items[k] == NOTHING ? FLAG : 0;
  for (int k = 0; k < NUM_CELLS; ++k) seen[ONIONS * NUM_CELLS + k] = items[k] == ONION ? FLAG : 0;
  for (int k = 0; k < NUM_CELLS; ++k) seen[PLATES * NUM_CELLS + k] = items[k] == PLATE ? FLAG : 0;
  for (int k = 0; k < NUM_CELLS; ++k) seen[ONIONS_IN_SOUP * NUM_CELLS + k] = items[k] == SOUP ? FLAG : 0;
  for (int k = 0; k < NUM_CELLS; ++k) seen[READY * NUM_CELLS + k] = items[k] == SOUP ? FLAG : 0;
  for (int k = 0; k < NUM_CELLS; ++k) seen[URGENCY * NUM_CELLS + k] = is_urgent ? FLAG : 0;
  for (int k = 0; k < NUM_POTS; ++k) {
    const int cell = kitchen.pots[k], stage = contents[cell];
    if (stage >= FULL_POT) {
      seen[ONIONS_IN_POT * NUM_CELLS + cell] = (uint8_t)((EMPTY_POT - stage) * PER_ONION);
    } else {
      seen[ONIONS_IN_SOUP * NUM_CELLS + cell] = FLAG;
      seen[COOKING * NUM_CELLS + cell] = (uint8_t)(stage * PER_STEP);
      seen[READY * NUM_CELLS + cell] = stage == READY_POT ? FLAG : 0;
    }
  }
  for (int cook = 0; cook < NUM_AGENTS; ++cook) {
    const int i = env_id() * NUM_AGENTS + cook, cell = kitchen.place[i], held = kitchen.held[i];
    const bool is_own = cook == agent_id();
    seen[(is_own ? OWN_PLACE : OTHER_PLACE) * NUM_CELLS + cell] = FLAG;
    seen[((is_own ? OWN_FACING : OTHER_FACING) + kitchen.facing[i]) * NUM_CELLS + cell] = FLAG;
    if (held == SOUP) seen[ONIONS_IN_SOUP * NUM_CELLS + cell] = seen[READY * NUM_CELLS + cell] = FLAG;
    if (held == PLATE) seen[PLATES * NUM_CELLS + cell] = FLAG;
    if (held == ONION) seen[ONIONS * NUM_CELLS + cell] = FLAG;
  }
}

extern "C" __global__ void step(Kitchen kitchen, const int* actions, const int* timestep, uint8_t* observations,
                                float* rewards, bool* truncated, int* soups, bool* idle, const float* shaping,
                                const float* lapses, int episode_length) {
  if (!is_active()) return;  // guard
  const int env = env_id(), first = env * NUM_AGENTS;
  if (agent_id() == 0) {
    float shaped[NUM_AGENTS] = {0.0f, 0.0f};
    int served = 0, done[NUM_AGENTS];
    Random random = Random::env();
    for (int cook = 0; cook < NUM_AGENTS; ++cook) {
      done[cook] = done_by(actions[first + cook], idle[first + cook], *lapses, random);
      if (done[cook] == INTERACT) served += interact(kitchen, cook, shaped[cook]);
    }
    move(kitchen, done);
    simmer(kitchen);
    for (int cook = 0; cook < NUM_AGENTS; ++cook) {
      rewards[first + cook] = FOR_DELIVERY * (float)served + *shaping * shaped[cook];
    }
    soups[env] += served;
    truncated[env] = timestep[env] >= episode_length;
  }
  sync_env();  // the kitchen is as it will be before either of them looks
  show(kitchen, observations, episode_length - timestep[env] < URGENT);
}

// Empty hands, pots and counters; cooks where the layout puts them, facing anywhere. Every thread sets its own cook.
__device__ void begin_as_laid_out(const Kitchen& kitchen, const int* starts) {
  const int i = agent_index();
  kitchen.place[i] = starts[agent_id()];
  kitchen.facing[i] = (int)Random::agent().below((unsigned)NUM_DIRECTIONS);
  kitchen.held[i] = NOTHING;
  if (agent_id() != 0) return;
  uint8_t* contents = kitchen.contents + env_id() * NUM_CELLS;
  for (int k = 0; k < NUM_CELLS; ++k) contents[k] = kitchen.cells[k] == POT ? EMPTY_POT : NOTHING;
}

// Cooks on any two cells of the floor that they could walk to, with anything in their hands, and pots at any stage. One
// thread draws for both.
__device__ void begin_anywhere(const Kitchen& kitchen, const int* starts, const int* parts) {
  const int first = env_id() * NUM_AGENTS;
  Random random = Random::agent();
  uint8_t* contents = kitchen.contents + env_id() * NUM_CELLS;
  for (int k = 0; k < NUM_CELLS; ++k) contents[k] = kitchen.cells[k] == POT ? (uint8_t)random.below(EMPTY_POT + 1u) : NOTHING;
  for (int cook = 0; cook < NUM_AGENTS; ++cook) {
    const int part = parts[starts[cook]], taken = cook == 0 ? -1 : kitchen.place[first];
    int cell = 0, skipped = -1, free = 0;  // the free cell before which so many others lie
#pragma unroll 1  // unrolled, they spill registers
    for (int k = 0; k < NUM_CELLS; ++k) free += parts[k] == part && k != taken;
    const int chosen = (int)random.below((unsigned)free);
#pragma unroll 1
    for (int k = 0; k < NUM_CELLS; ++k) {
      const bool is_free = parts[k] == part && k != taken;
      skipped += is_free;
      if (is_free && skipped == chosen) cell = k;
    }
    kitchen.place[first + cook] = cell;
    kitchen.facing[first + cook] = (int)random.below((unsigned)NUM_DIRECTIONS);
    kitchen.held[first + cook] = (uint8_t)random.below(SOUP + 1u);
  }
}

// Whether this episode begins anywhere; both threads draw the same number.
__device__ bool begins_anywhere(float share) {
  if (share <= 0.0f || share >= 1.0f) return share > 0.0f;  // without a draw: the layout's start alone, or never
  return Random::env().uniform() < share;
}

extern "C" __global__ void reset(Kitchen kitchen, uint8_t* observations, const int* starts, const int* parts,
                                 const float* random_starts, int episode_length) {
  if (!is_active()) return;  // guard
  if (!begins_anywhere(*random_starts)) {
    begin_as_laid_out(kitchen, starts);
  } else if (agent_id() == 0) {
    begin_anywhere(kitchen, starts, parts);
  }
  sync_env();  // the kitchen is in order before either of them looks
  show(kitchen, observations, episode_length < URGENT);
}
