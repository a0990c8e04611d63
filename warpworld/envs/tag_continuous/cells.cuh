// The search for the nearest agents by cells, where there are many: the square is cut into SIDE x SIDE cells, the agents
// in the game are put in order by cell, and each seeker looks at the cells around it, as far as the farthest of the
// nearest found so far. The cells only say who may be near: what is found is what a look at all agents would find.
#pragma once

#include "nearest.cuh"

// From here on agents are sought by cells: on a GPU by the count of instructions; on a CPU, whose vectors are quick with
// all pairs, by time, which is less above this where many of the nearest are asked for, and otherwise about the same.
constexpr int MANY_AGENTS = LANES_SIDE_BY_SIDE ? 160 : 400;

// Taggers are sought by cells where there are so many of them.
constexpr int MANY_TAGGERS = 256;

// Cells on a side: so many that the 3 x 3 around an agent hold all its nearest most of the time, when agents are spread.
constexpr int MOST_CELLS_ON_A_SIDE = 255;  // 16 bits number the cells
constexpr int cells_on_a_side(int side) {
  return side < MOST_CELLS_ON_A_SIDE && 2 * (side + 1) * (side + 1) * (NEAREST + 1) <= 5 * NUM_AGENTS
             ? cells_on_a_side(side + 1)
             : side;
}
constexpr int WANTED_SIDE = cells_on_a_side(1);
constexpr bool BY_CELLS = !FULL && NUM_AGENTS >= MANY_AGENTS && WANTED_SIDE >= 5;
constexpr bool TAGGERS_BY_CELLS = BY_CELLS && TAGGER_COUNT >= MANY_TAGGERS;
constexpr int SIDE = BY_CELLS ? WANTED_SIDE : 1, NUM_CELLS = SIDE * SIDE;

// A short list of the nearest, which lanes side by side keep in registers, is of agents in cells, if need be in a single
// one. The lanes of a crowd have too few registers for it.
constexpr int MOST_SHORTLISTED = 12;
constexpr bool SHORTLISTED = LANES_SIDE_BY_SIDE && !FULL && !IS_CROWD && NEAREST <= MOST_SHORTLISTED;
constexpr bool IN_CELLS = BY_CELLS || SHORTLISTED;
constexpr int SLOTS = IN_CELLS ? NUM_AGENTS : 1;

// What an env's lanes share of it. Cells follow each other row by row, and so do the slots of their agents: those of
// neighbouring cells of a row are one piece.
struct Cells {
  float2 places[SLOTS];
  uint16_t agents[SLOTS], slot_of[SLOTS];  // in filling, slot_of has the cell of each agent
  uint16_t first[NUM_CELLS + 1];  // slot of each cell, and the end
  uint16_t row_count[SIDE];
  int count[NUM_CELLS];
};

constexpr float ROUNDING = 1.0f / 1024.0f;  // cells, by far more than places are rounded by: SIDE / 2^22

struct Grid {
  float cells_per_length, lengths_per_cell;
};

__device__ Grid grid_of(float grid_length) { return Grid{(float)SIDE / grid_length, grid_length / (float)SIDE}; }

// Column or row of a place, measured in cells.
__device__ int clamped(float place) {
  const int cell = (int)place;
  return cell < 0 ? 0 : cell < SIDE ? cell : SIDE - 1;
}

__device__ int cell_at(const Grid& grid, float x, float y) {
  return clamped(y * grid.cells_per_length) * SIDE + clamped(x * grid.cells_per_length);
}

// ---- filling --------------------------------------------------------------------------------------------------------
// To do before the barrier that comes before fill().
__device__ void empty(Cells& cells) {
  for (int cell = lane(); cell < NUM_CELLS; cell += num_lanes()) cells.count[cell] = 0;
}

__device__ bool is_somewhere(Places places, int agent) { return places[0][agent] != INFINITY; }

__device__ void note_cell(Cells& cells, const Grid& grid, Places places, int agent) {
  cells.slot_of[agent] = (uint16_t)cell_at(grid, places[0][agent], places[1][agent]);
}

__device__ void put(Cells& cells, int slot, int agent, Places places) {
  cells.places[slot] = make_float2(places[0][agent], places[1][agent]);
  cells.agents[slot] = (uint16_t)agent;
  cells.slot_of[agent] = (uint16_t)slot;
}

// Where lanes take turns one of them does it all, which spares barriers.
__device__ void fill_alone(Cells& cells, const Grid& grid, Places places) {
  for (int i = 0; i < NUM_AGENTS; ++i) {
    if (!is_somewhere(places, i)) continue;
    note_cell(cells, grid, places, i);
    cells.count[cells.slot_of[i]]++;
  }
  int slot = 0;
  for (int cell = 0; cell < NUM_CELLS; slot += cells.count[cell++]) cells.first[cell] = (uint16_t)slot;
  cells.first[NUM_CELLS] = (uint16_t)slot;
  for (int i = NUM_AGENTS - 1; i >= 0; --i) {
    if (!is_somewhere(places, i)) continue;
    const int cell = cells.slot_of[i];
    put(cells, cells.first[cell] + --cells.count[cell], i, places);
  }
}

// Agents of a cell come to lie in the order in which their lanes got there, which is any: nothing may depend on it.
__device__ void fill_together(Cells& cells, const Grid& grid, Places places) {
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    if (!is_somewhere(places, agent)) continue;
    note_cell(cells, grid, places, agent);
    atomicAdd(&cells.count[cells.slot_of[agent]], 1);
  }
  sync_env();  // orders the counts before their sums
  for (int row = lane(); row < SIDE; row += num_lanes()) {
    int count = 0;
    for (int i = 0; i < SIDE; ++i) count += cells.count[row * SIDE + i];
    cells.row_count[row] = (uint16_t)count;
  }
  sync_env();  // orders the rows' counts before their sums
  for (int i = lane(); i <= NUM_CELLS; i += num_lanes()) {
    const int row = i / SIDE;
    int first = 0;
    for (int j = 0; j < row; ++j) first += cells.row_count[j];
    for (int j = row * SIDE; j < i; ++j) first += cells.count[j];
    cells.first[i] = (uint16_t)first;
  }
  sync_env();  // orders the cells' first slots before their use
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    if (!is_somewhere(places, agent)) continue;
    const int cell = cells.slot_of[agent], left = atomicSub(&cells.count[cell], 1);
    put(cells, cells.first[cell] + left - 1, agent, places);
  }
}

// The same where there is but one cell.
__device__ void fill_single(Cells& cells, Places places) {
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    if (is_somewhere(places, agent)) put(cells, atomicAdd(&cells.count[0], 1), agent, places);
}

// Puts each agent that is somewhere into its cell.
__device__ void fill(Cells& cells, const Grid& grid, Places places) {
  if (LANES_SIDE_BY_SIDE && NUM_CELLS == 1)
    fill_single(cells, places);
  else if (LANES_SIDE_BY_SIDE)
    fill_together(cells, grid, places);
  else if (lane() == 0)
    fill_alone(cells, grid, places);
  sync_env();  // orders the cells before they are searched
}

// The first slot of a cell, and the number of agents that are somewhere for the cell behind the last.
__device__ int first_slot(const Cells& cells, int cell) {
  if (NUM_CELLS == 1) return cell == 0 ? 0 : cells.count[0];
  return cells.first[cell];
}

__device__ int num_somewhere(const Cells& cells) { return first_slot(cells, NUM_CELLS); }

// ---- blocks of cells ------------------------------------------------------------------------------------------------
// Columns left .. right and rows bottom .. top of cells.
struct Block {
  int left, right, bottom, top;

  __device__ int begin_of(const Cells& cells, int row) const { return first_slot(cells, row * SIDE + left); }
  __device__ int end_of(const Cells& cells, int row) const { return first_slot(cells, row * SIDE + right + 1); }
};

// The cells that a square around a place touches; place and radius in cells.
__device__ Block block_around(float column, float row, float radius) {
  return Block{clamped(column - radius), clamped(column + radius), clamped(row - radius), clamped(row + radius)};
}

__device__ int count_in(const Cells& cells, const Block& block) {
  int count = 0;
  for (int row = block.bottom; row <= block.top; ++row) count += block.end_of(cells, row) - block.begin_of(cells, row);
  return count;
}

// The cells next to a place, as many as hold enough agents.
__device__ Block first_block(const Cells& cells, float column, float row) {
  for (int radius = 1;; ++radius) {
    const Block block = block_around((float)clamped(column), (float)clamped(row), (float)radius);
    if (count_in(cells, block) > NEAREST || radius == SIDE) return block;
  }
}

// Whether no agent outside a block is as near as `key`. Beyond the sides of the square there is none.
__device__ bool holds_all_within(const Block& block, const Grid& grid, float column, float row, int key) {
  float reach = INFINITY;  // in cells
  if (block.left > 0) reach = fminf(reach, column - (float)block.left);
  if (block.right < SIDE - 1) reach = fminf(reach, (float)(block.right + 1) - column);
  if (block.bottom > 0) reach = fminf(reach, row - (float)block.bottom);
  if (block.top < SIDE - 1) reach = fminf(reach, (float)(block.top + 1) - row);
  reach = fmaxf(reach - ROUNDING, 0.0f) * grid.lengths_per_cell;
  return reach == INFINITY || key < __float_as_int(reach * reach);
}

// A block that does.
__device__ Block block_within(const Grid& grid, float column, float row, int key) {
  const float radius = sqrtf(__int_as_float(key)) * grid.cells_per_length + ROUNDING;
  return block_around(column, row, fminf(radius, (float)SIDE));
}

// ---- searching ------------------------------------------------------------------------------------------------------
// An agent as the search orders it: by its distance, then by its index.
using Entry = int64_t;
constexpr Entry NOBODY = 0x7FFFFFFFFFFFFFFF;
constexpr int LIST_UNROLLED = NEAREST <= 16 ? NEAREST : 1;  // registers hold so much

__device__ int key_of(Entry entry) { return (int)(entry >> 32); }

// Of the agent in a slot, NOBODY for the seeker itself.
__device__ Entry entry_of(const Cells& cells, int seeker, int slot, int key) {
  return slot == seeker ? NOBODY : (Entry)key << 32 | cells.agents[slot];
}

// The nearest of those taken so far, two ways. Where lanes run side by side the list is in order at every moment, in
// registers; a lane continues to its next entry until each has one, so that all insert at the same time.
template <bool SIDE_BY_SIDE>
struct FoundSoFar {
  Entry entries[NEAREST];

  __device__ FoundSoFar() {
    GPU_UNROLL(LIST_UNROLLED)
    for (int i = 0; i < NEAREST; ++i) entries[i] = NOBODY;
  }

  __device__ void take(const Cells& cells, int seeker, int slot, int end) {
    const float2 place = cells.places[seeker];
    while (slot < end) {
      int key;
      do key = distance_key(cells.places[slot++], place);
      while (key > key_of(entries[NEAREST - 1]) && slot < end);
      const Entry entry = entry_of(cells, seeker, slot - 1, key);
      if (entry < entries[NEAREST - 1]) insert(entry);
    }
  }

  __device__ void insert(Entry entry) {
    bool is_before = true;  // the entry comes before entries[i]
    GPU_UNROLL(LIST_UNROLLED)
    for (int i = NEAREST - 1; i > 0; --i) {
      const bool is_before_next = entry < entries[i - 1];
      entries[i] = is_before_next ? entries[i - 1] : is_before ? entry : entries[i];
      is_before = is_before_next;
    }
    entries[0] = is_before ? entry : entries[0];
  }

  __device__ void settle() {}
};

// Where lanes take turns those below a limit are collected without a branch, and put in order by vectors.
template <>
struct FoundSoFar<false> {
  static constexpr int MOST = round_up(4 * NEAREST + 24, 32), VECTOR = 8;
  Entry entries[MOST + VECTOR], limit = NOBODY;
  int count = 0;

  void take(const Cells& cells, int seeker, int slot, int end) {
    for (; slot < end; ++slot) {
      entries[count] = entry_of(cells, seeker, slot, distance_key(cells.places[slot], cells.places[seeker]));
      count += entries[count] < limit;
      if (count == MOST) settle();
    }
  }

  void settle() {
    Entry sorted[MOST + VECTOR];
    for (int i = 0; i < VECTOR; ++i) entries[count + i] = NOBODY;
    for (int first = 0; first < count; first += VECTOR) {
      int64_t before[VECTOR] = {};  // one's place is the number of those before it
      for (int i = 0; i < count; ++i)
        for (int j = 0; j < VECTOR; ++j) before[j] += entries[i] < entries[first + j];
      for (int j = 0; j < VECTOR; ++j) sorted[before[j]] = entries[first + j];
    }
    count = count < NEAREST ? count : NEAREST;
    for (int i = 0; i < NEAREST; ++i) entries[i] = i < count ? sorted[i] : NOBODY;
    limit = entries[NEAREST - 1];
  }
};
using Found = FoundSoFar<LANES_SIDE_BY_SIDE>;

// Finds the nearest of the agent in a slot: first in the cells around it; then, if others may be nearer than the farthest
// of these, in the rest of the cells that come so near.
__device__ void search(const Cells& cells, const Grid& grid, int seeker, Found& found) {
  const float2 place = cells.places[seeker];
  const float column = place.x * grid.cells_per_length, row = place.y * grid.cells_per_length;
  const Block block = first_block(cells, column, row);
  const int middle = clamped(row);  // its row comes first: who is near early keeps others from being inserted
  found.take(cells, seeker, block.begin_of(cells, middle), block.end_of(cells, middle));
  for (int i = block.bottom; i <= block.top; ++i)
    if (i != middle) found.take(cells, seeker, block.begin_of(cells, i), block.end_of(cells, i));
  found.settle();

  const int farthest = min(key_of(found.entries[NEAREST - 1]), FAR);
  if (holds_all_within(block, grid, column, row, farthest)) return;
  const Block wider = block_within(grid, column, row, farthest);
  for (int i = wider.bottom; i <= wider.top; ++i) {
    const int begin = wider.begin_of(cells, i), end = wider.end_of(cells, i);
    const bool is_new = i < block.bottom || i > block.top;
    found.take(cells, seeker, begin, is_new ? end : block.begin_of(cells, i));
    if (!is_new) found.take(cells, seeker, block.end_of(cells, i), end);
  }
  found.settle();
}

// The tagger nearest to a place, the lowest index among equals, if one is nearer than `limit`; else it may be any. Cells
// around the place are looked at, twice as far each time, until no tagger can be nearer than the one found.
__device__ Tagger nearest_tagger_within(const Cells& cells, const Grid& grid, float x, float y, int limit) {
  const float2 place = make_float2(x, y);
  const float column = x * grid.cells_per_length, row = y * grid.cells_per_length;
  GPU_UNROLL(1)
  for (int radius = 1;; radius *= 2) {
    const Block block = block_around((float)clamped(column), (float)clamped(row), (float)radius);
    Tagger nearest{0, FAR};
    for (int i = block.bottom; i <= block.top; ++i)
      GPU_UNROLL(1)
      for (int slot = block.begin_of(cells, i), end = block.end_of(cells, i); slot < end; ++slot) {
        const int id = cells.agents[slot], key = distance_key(cells.places[slot], place);
        if (id < TAGGER_COUNT && (key < nearest.key || (key == nearest.key && id < nearest.id))) nearest = {id, key};
      }
    if (holds_all_within(block, grid, column, row, min(nearest.key, limit))) return nearest;
  }
}

// Where there is no other agent it is the agent itself.
__device__ void write(const Found& found, int self, uint16_t* nearest) {
  GPU_UNROLL(LIST_UNROLLED)
  for (int i = 0; i < NEAREST; ++i)
    nearest[i] = found.entries[i] < NOBODY ? (uint16_t)found.entries[i] : (uint16_t)self;
}
