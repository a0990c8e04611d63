// The search for a few of the nearest where lanes run side by side: the list is in order at every moment and lies in
// registers, and no lane takes another path than its neighbours. An entry is one word: the upper bits of a distance, and
// below them the slot. Where these bits are the same the whole distances decide, and then the agents' indices.
#pragma once

#include "cells.cuh"

constexpr int LISTED = 16;  // entries of the list, the seeker's own among them
constexpr int AT_ONCE = 8;  // agents that it takes together
static_assert(MOST_SHORTLISTED < LISTED - 1, "the others of the list show which distances are too close");
constexpr int SLOT_MASK = power_above(NUM_AGENTS) - 1;

__device__ void order(int& lower, int& higher) {
  const int least = min(lower, higher);
  higher = max(lower, higher);
  lower = least;
}

// Batcher's merge sort.
__device__ void put_in_order(int (&entries)[AT_ONCE]) {
  GPU_UNROLL(8)
  for (int i = 0; i < 8; i += 2) order(entries[i], entries[i + 1]);
  GPU_UNROLL(8)
  for (int i = 0; i < 8; i += 4) {
    order(entries[i], entries[i + 2]);
    order(entries[i + 1], entries[i + 3]);
    order(entries[i + 1], entries[i + 2]);
  }
  GPU_UNROLL(8)
  for (int i = 0; i < 4; ++i) order(entries[i], entries[i + 4]);
  order(entries[2], entries[4]);
  order(entries[3], entries[5]);
  GPU_UNROLL(8)
  for (int i = 1; i < 7; i += 2) order(entries[i], entries[i + 1]);
}

__device__ bool is_as_near(int entry, int other) { return (entry ^ other) <= SLOT_MASK; }

struct Shortlist {
  int entries[LISTED];

  __device__ Shortlist() {
    GPU_UNROLL(LISTED)
    for (int i = 0; i < LISTED; ++i) entries[i] = FAR;
  }

  // Takes the agents in some slots.
  __device__ void take(const Cells& cells, float2 place, int slot, int end) {
    GPU_UNROLL(1)
    for (; slot < end; slot += AT_ONCE) {
      int fresh[AT_ONCE];
      GPU_UNROLL(AT_ONCE)
      for (int i = 0; i < AT_ONCE; ++i)
        fresh[i] = slot + i < end ? (distance_key(cells.places[slot + i], place) & ~SLOT_MASK) | (slot + i) : FAR;
      put_in_order(fresh);
      merge(fresh);
    }
  }

  // Takes the agents of a block of cells but for those of one inside it.
  __device__ void take_around(const Cells& cells, float2 place, const Block& block, const Block& seen) {
    int row = block.bottom;
    bool is_right = false;  // of the cells seen
    GPU_UNROLL(1)
    while (row <= block.top) {
      const bool is_split = seen.bottom <= row && row <= seen.top;
      const int begin = is_right ? seen.end_of(cells, row) : block.begin_of(cells, row);
      take(cells, place, begin, is_split && !is_right ? seen.begin_of(cells, row) : block.end_of(cells, row));
      is_right = is_split && !is_right;
      row += !is_right;
    }
  }

  // Keeps the lowest of two lists in order, by Batcher's bitonic merge.
  __device__ void merge(const int (&fresh)[AT_ONCE]) {
    GPU_UNROLL(AT_ONCE)
    for (int i = 0; i < AT_ONCE; ++i)
      entries[LISTED - 1 - i] = min(entries[LISTED - 1 - i], fresh[i]);
    merge_halves<LISTED / 2>();
  }

  template <int APART>
  __device__ void merge_halves() {
    GPU_UNROLL(LISTED)
    for (int i = 0; i < LISTED; ++i)
      if (!(i & APART)) order(entries[i], entries[i + APART]);
    if constexpr (APART > 1) merge_halves<APART / 2>();
  }

  // A key that those of the nearest do not exceed. The seeker is one more.
  __device__ int bound() const { return min(entries[NEAREST] | SLOT_MASK, FAR); }

  // Whether agents that are not in the list may be as near as one of the nearest.
  __device__ bool is_open() const { return entries[NEAREST] < FAR && is_as_near(entries[NEAREST], entries[LISTED - 1]); }

  // Orders those whose entries hold the same bits of their distances.
  __device__ void settle(const Cells& cells, float2 place) {
    bool has_moved = false;
    GPU_UNROLL(LISTED)
    for (int i = 1; i < LISTED; ++i) has_moved |= entries[i - 1] < FAR && is_as_near(entries[i - 1], entries[i]);
    GPU_UNROLL(1)
    while (has_moved) {
      has_moved = false;
      GPU_UNROLL(LISTED)
      for (int i = 1; i < LISTED; ++i) {
        if (entries[i - 1] >= FAR || !is_as_near(entries[i - 1], entries[i])) continue;
        if (whole(cells, place, entries[i - 1]) < whole(cells, place, entries[i])) continue;
        const int entry = entries[i];
        entries[i] = entries[i - 1];
        entries[i - 1] = entry;
        has_moved = true;
      }
    }
  }

  __device__ static Entry whole(const Cells& cells, float2 place, int entry) {
    const int slot = entry & SLOT_MASK;
    return entry_of(cells, -1, slot, distance_key(cells.places[slot], place));
  }

  // Where there is no other agent it is the agent itself.
  __device__ void write(const Cells& cells, int seeker, int self, uint16_t* nearest) const {
    bool is_passed = false;
    GPU_UNROLL(LISTED)
    for (int i = 0; i < NEAREST; ++i) {
      is_passed |= (entries[i] & SLOT_MASK) == seeker && entries[i] < FAR;
      const int entry = is_passed ? entries[i + 1] : entries[i];
      nearest[i] = entry < FAR ? cells.agents[entry & SLOT_MASK] : (uint16_t)self;
    }
  }
};

// The nearest in a block of cells, by a look at all for each of them: slow, for a crowd at nearly the same distance.
__device__ void nearest_in(const Cells& cells, const Block& block, int seeker, int self, uint16_t* nearest) {
  const float2 place = cells.places[seeker];
  Entry last = -1;
  GPU_UNROLL(1)
  for (int i = 0; i < NEAREST; ++i) {
    Entry next = NOBODY;
    GPU_UNROLL(1)
    for (int row = block.bottom; row <= block.top; ++row)
      GPU_UNROLL(1)
      for (int slot = block.begin_of(cells, row), end = block.end_of(cells, row); slot < end; ++slot) {
        const Entry entry = entry_of(cells, seeker, slot, distance_key(cells.places[slot], place));
        if (last < entry && entry < next) next = entry;
      }
    nearest[i] = next < NOBODY ? (uint16_t)next : (uint16_t)self;
    last = next;
  }
}

// Finds the nearest of the agent in a slot, as search() does: in the cells around it, and then, if others may be nearer
// than the farthest of these, in the rest of the cells that come so near.
__device__ void search_shortly(const Cells& cells, const Grid& grid, int seeker, uint16_t* nearest) {
  const float2 place = cells.places[seeker];
  const float column = place.x * grid.cells_per_length, row = place.y * grid.cells_per_length;
  Shortlist list;
  Block block = first_block(cells, column, row), seen{0, 0, 1, 0};  // of no row
  GPU_UNROLL(1)
  while (true) {
    list.take_around(cells, place, block, seen);
    if (seen.bottom <= seen.top || holds_all_within(block, grid, column, row, list.bound())) break;
    seen = block;
    block = block_within(grid, column, row, list.bound());
  }
  const int self = cells.agents[seeker];
  if (list.is_open()) return nearest_in(cells, block, seeker, self, nearest);
  list.settle(cells, place);
  list.write(cells, seeker, self, nearest);
}
