// Random permutations of a rollout's rows: functions of a seed, of the number of the pass that goes through them, and of the
// place. COUNT is how many rows there are; PASSES permutations follow each other.
//
// Arrays: seed (2,), words of the seed, behind which other numbers may stand; epoch (1,), the number of the first pass; keys
// (COUNT,), numbers that are drawn; order (PASSES * COUNT,). 0xFFFC is neither an agent nor the word that other kernels draw by,
// so none of these numbers is drawn elsewhere.
#include "replay.cuh"

constexpr int bits_below(unsigned count) { return count > 1 ? 1 + bits_below((count + 1) / 2) : 0; }

// A permutation of 2^BITS numbers: a Feistel network of halves whose widths differ by one bit at most (Luby and Rackoff 1988,
// "How to construct pseudorandom permutations"). Small halves need many rounds (Mitchell et al. 2021, arXiv 2106.06161).
constexpr int BITS = bits_below(COUNT) < 2 ? 2 : bits_below(COUNT), LOW = BITS / 2, ROUNDS = 24;

// Mixes all bits of a word (Appleby's finaliser of MurmurHash3).
__device__ inline uint32_t mixed(uint32_t word) {
  word = (word ^ word >> 16) * 0x85EBCA6Bu;
  word = (word ^ word >> 13) * 0xC2B2AE35u;
  return word ^ word >> 16;
}

__device__ inline uint32_t permuted(uint32_t number, const uint32_t (&keys)[ROUNDS]) {
  uint32_t high = number >> LOW, low = number & ((1u << LOW) - 1u);
#pragma unroll
  for (int round = 0; round < ROUNDS; round += 2) {
    high ^= mixed(low + keys[round]) & ((1u << (BITS - LOW)) - 1u);
    low ^= mixed(high + keys[round + 1]) & ((1u << LOW) - 1u);
  }
  return high << LOW | low;
}

extern "C" __global__ void draw_keys(const int32_t* seed, const int64_t* epoch, int64_t* keys, int num_envs) {
  for (int pair = first_lane(); pair * 2 < COUNT; pair += all_lanes(num_envs)) {
    const ww_uint4 counter{(uint32_t)pair, (uint32_t)epoch[0], 0u, 0xFFFCu};
    const ww_uint4 words = ww_philox(counter, (uint32_t)seed[0], (uint32_t)seed[1]);
    keys[pair * 2] = (int64_t)((uint64_t)words.x << 32 | words.y);
    if (pair * 2 + 1 < COUNT) keys[pair * 2 + 1] = (int64_t)((uint64_t)words.z << 32 | words.w);
  }
}

// What is drawn beyond COUNT is permuted again, until it is a row: less than twice on average.
extern "C" __global__ void draw_orders(const int32_t* seed, const int64_t* epoch, int64_t* order, int num_envs) {
  for (int pass = 0; pass < PASSES; ++pass) {
    uint32_t keys[ROUNDS];
#pragma unroll
    for (int i = 0; i < ROUNDS / 4; ++i) {
      const ww_uint4 counter{(uint32_t)i, (uint32_t)epoch[0] + (uint32_t)pass, 1u, 0xFFFCu};
      const ww_uint4 words = ww_philox(counter, (uint32_t)seed[0], (uint32_t)seed[1]);
      keys[4 * i] = words.x, keys[4 * i + 1] = words.y, keys[4 * i + 2] = words.z, keys[4 * i + 3] = words.w;
    }
    for (int place = first_lane(); place < COUNT; place += all_lanes(num_envs)) {
      uint32_t row = permuted((uint32_t)place, keys);
      while (row >= COUNT) row = permuted(row, keys);
      order[(int64_t)pass * COUNT + place] = row;
    }
  }
}
