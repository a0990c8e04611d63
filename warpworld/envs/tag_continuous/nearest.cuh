// The search for the nearest agents, exact: nearest first, the lowest index first among equals. Here are distances, and
// the search among all of a few agents; cells.cuh has that among many.
#pragma once

__host__ __device__ constexpr int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }
constexpr int power_above(int n) { return n <= 16 ? 16 : 2 * power_above((n + 1) / 2); }

constexpr int WORD = 32;  // agents to a mask
constexpr int BUCKETS = power_above(NEAREST + NEAREST / 2);
constexpr int PADDED = round_up(NUM_AGENTS, BUCKETS < WORD ? WORD : BUCKETS);  // so that loops run over whole vectors
constexpr int MANY = round_up(2 * NEAREST + 8, WORD);  // candidates at which only the nearest of them are kept
constexpr int AT_A_TIME = 6;                           // candidates taken from a mask before asking if more are in it
constexpr int FAR = 0x7F800000;                        // the key of infinity, above that of any distance
constexpr int VECTOR = LANES_SIDE_BY_SIDE ? 1 : 32;    // where lanes take turns, what lies side by side are vectors

// How far to unroll a loop for a GPU, whose compiler overdoes it; the others know best.
#ifdef __CUDACC__
#define PRAGMA(text) _Pragma(#text)
#define GPU_UNROLL(n) PRAGMA(unroll n)
#else
#define GPU_UNROLL(n)
#endif
constexpr int IN_REGISTERS = BUCKETS <= 32 ? BUCKETS : 1;  // how far, for loops whose array is then no memory

// From one row of what lanes share to the next: side by side they read several rows at once, from different banks.
constexpr int ROW = PADDED + (LANES_SIDE_BY_SIDE ? 1 : 0);

// Where agents are, first all x, then all y; those that cannot be seen are at x = infinity.
using Places = const float (*)[ROW];

// The square of the distance between two places, as an integer that orders as it does.
__device__ int distance_key(float2 to, float2 from) {
  const float dx = to.x - from.x, dy = to.y - from.y;
  return __float_as_int(dx * dx + dy * dy);
}

__device__ int distance_key(Places places, int other, float x, float y) {
  return distance_key(make_float2(places[0][other], places[1][other]), make_float2(x, y));
}

struct Tagger {
  int id, key;
};

// A key that those of NEAREST others do not exceed, and of few more: the agents are dealt to buckets, and the nearest
// ones of NEAREST + 1 buckets are so many different agents, of which one at most is the agent itself.
__device__ int bound_of(Places places, float x, float y) {
  int lowest[BUCKETS];
  GPU_UNROLL(IN_REGISTERS)
  for (int i = 0; i < BUCKETS; ++i) {
    int least = FAR;
    GPU_UNROLL(2)
    for (int first = 0; first < PADDED; first += BUCKETS) {
      const int key = distance_key(places, first + i, x, y);
      least = key < least ? key : least;
    }
    lowest[i] = least;
  }
  int bound = 0;
  GPU_UNROLL(IN_REGISTERS)
  for (int i = 0; i < BUCKETS; ++i) {
    int before = 0;
    GPU_UNROLL(IN_REGISTERS)
    for (int j = 0; j < BUCKETS; ++j) before += lowest[j] < lowest[i];
    const int key = before <= NEAREST ? lowest[i] : 0;
    bound = key > bound ? key : bound;
  }
  return bound < FAR ? bound : FAR - 1;
}

// The nearest of `count` candidates, in order, the earlier one first among equals; `self` where there are no more.
__device__ void sort(Places places, int self, float x, float y, const uint16_t* candidates, int count,
                     uint16_t* nearest) {
  int key[MANY + WORD];
  uint16_t sorted[MANY + WORD];
  for (int i = 0; i < count; ++i) key[i] = distance_key(places, candidates[i], x, y);
  for (int i = count; i < round_up(count, VECTOR); ++i) key[i] = FAR;
  for (int first = 0; first < count; first += VECTOR) {
    int before[VECTOR] = {};  // one's place is the number of those before it
    for (int i = 0; i < count; ++i)
      for (int j = 0; j < VECTOR; ++j) before[j] += key[i] < key[first + j] + (i < first + j);
    for (int j = 0; j < VECTOR && first + j < count; ++j) sorted[before[j]] = candidates[first + j];
  }
  GPU_UNROLL(4)
  for (int i = 0; i < NEAREST; ++i) nearest[i] = i < count ? sorted[i] : (uint16_t)self;
}

// The nearest agents of all; `self` where there are no more. Those within a bound become candidates, by the bits of
// masks; if they get many, only the nearest of them stay.
__device__ void nearest_of(Places places, int self, float x, float y, uint16_t* nearest) {
  uint16_t candidates[MANY + WORD + AT_A_TIME];
  int count = 0, bound = NUM_AGENTS - 1 <= MANY ? FAR - 1 : bound_of(places, x, y);
  GPU_UNROLL(1)
  for (int first = 0; first < PADDED; first += WORD) {
    uint32_t mask = 0;
    GPU_UNROLL(8)
    for (int i = 0; i < WORD; ++i) mask |= (uint32_t)(distance_key(places, first + i, x, y) <= bound) << i;
    mask &= ~((uint32_t)(self / WORD == first / WORD) << self % WORD);
    int next = count;
    count += __popc(mask);
    while (mask)  // what the last round takes too much is not counted
      for (int i = 0; i < AT_A_TIME; ++i, mask &= mask - 1)
        candidates[next++] = (uint16_t)(first + __ffs((int)mask) - 1);
    if (count <= MANY) continue;
    sort(places, self, x, y, candidates, count, candidates);
    count = NEAREST;
    bound = distance_key(places, candidates[NEAREST - 1], x, y);
  }
  sort(places, self, x, y, candidates, count, nearest);
}
