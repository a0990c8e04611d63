// Random permutations of a rollout's rows: functions of a seed, of the number of the pass that goes through them, and of the
// place. `count` is how many rows there are; `passes` permutations follow each other.
//
// Arrays: seed (2,), words of the seed, behind which other numbers may stand; epoch (1,), the number of the first pass; keys
// (count,), numbers that are drawn; order (passes * count,). 0xFFFC is neither an agent nor the word that other kernels draw by,
// so none of these numbers is drawn elsewhere.
#include "replay.cuh"

constexpr int ROUNDS = 24;

// The halves of numbers below a power of two that is at least `count`; their widths differ by one bit at most.
struct Halves {
  int low_bits;
  uint32_t low_mask, high_mask;

  static __device__ Halves of(int count) {
    const int needed = 32 - __clz(count - 1), bits = needed < 2 ? 2 : needed, low_bits = bits / 2;
    return {low_bits, (1u << low_bits) - 1u, (1u << (bits - low_bits)) - 1u};
  }
};

// Mixes all bits of a word (Appleby's finaliser of MurmurHash3).
__device__ inline uint32_t mixed(uint32_t word) {
  word = (word ^ word >> 16) * 0x85EBCA6Bu;
  word = (word ^ word >> 13) * 0xC2B2AE35u;
  return word ^ word >> 16;
}

// A permutation of all numbers that the halves make: a Feistel network (Luby and Rackoff 1988, "How to construct
// pseudorandom permutations"). Small halves need many rounds (Mitchell et al. 2021, arXiv 2106.06161).
__device__ inline uint32_t permuted(uint32_t number, const Halves& halves, const uint32_t (&keys)[ROUNDS]) {
  uint32_t high = number >> halves.low_bits, low = number & halves.low_mask;
#pragma unroll
  for (int round = 0; round < ROUNDS; round += 2) {
    high ^= mixed(low + keys[round]) & halves.high_mask;
    low ^= mixed(high + keys[round + 1]) & halves.low_mask;
  }
  return high << halves.low_bits | low;
}

extern "C" __global__ void draw_keys(const int32_t* seed, const int64_t* epoch, int64_t* keys, int count, int num_envs) {
  for (int pair = first_lane(); pair * 2 < count; pair += all_lanes(num_envs)) {
    const ww_uint4 counter{(uint32_t)pair, (uint32_t)epoch[0], 0u, 0xFFFCu};
    const ww_uint4 words = ww_philox(counter, (uint32_t)seed[0], (uint32_t)seed[1]);
    keys[pair * 2] = (int64_t)((uint64_t)words.x << 32 | words.y);
    if (pair * 2 + 1 < count) keys[pair * 2 + 1] = (int64_t)((uint64_t)words.z << 32 | words.w);
  }
}

// What is drawn beyond `count` is permuted again, until it is a row: less than twice on average.
extern "C" __global__ void draw_orders(const int32_t* seed, const int64_t* epoch, int64_t* order, int count, int passes,
                                       int num_envs) {
  const Halves halves = Halves::of(count);
  for (int pass = 0; pass < passes; ++pass) {
    uint32_t keys[ROUNDS];
#pragma unroll
    for (int i = 0; i < ROUNDS / 4; ++i) {
      const ww_uint4 counter{(uint32_t)i, (uint32_t)epoch[0] + (uint32_t)pass, 1u, 0xFFFCu};
      const ww_uint4 words = ww_philox(counter, (uint32_t)seed[0], (uint32_t)seed[1]);
      keys[4 * i] = words.x, keys[4 * i + 1] = words.y, keys[4 * i + 2] = words.z, keys[4 * i + 3] = words.w;
    }
    for (int place = first_lane(); place < count; place += all_lanes(num_envs)) {
      uint32_t row = permuted((uint32_t)place, halves, keys);
      while (row >= (uint32_t)count) row = permuted(row, halves, keys);
      order[(int64_t)pass * count + place] = row;
    }
  }
}
