// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). The numbers are a function of seed, stream, agent, clock and kernel and have no other state, so env i's
// trajectory does not depend on how many envs, threads or processes there are.
//
//   key      the env's seed
//   counter  x: number of the draw | index of the kernel << 28     y: the env's stream, its global index by default
//            z: low half of the env's clock                        w: agent | high part of the clock << 16
#pragma once

struct ww_uint4 {
  uint32_t x, y, z, w;
};

// One block of Philox4x32-10: four random words for one counter.
WW_FUNCTION ww_uint4 ww_philox(ww_uint4 counter, uint32_t key_0, uint32_t key_1) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint64_t product_0 = (uint64_t)0xD2511F53u * counter.x, product_1 = (uint64_t)0xCD9E8D57u * counter.z;
    counter = ww_uint4{(uint32_t)(product_1 >> 32) ^ counter.y ^ key_0, (uint32_t)product_1,
                       (uint32_t)(product_0 >> 32) ^ counter.w ^ key_1, (uint32_t)product_0};
    key_0 += 0x9E3779B9u;
    key_1 += 0xBB67AE85u;
  }
  return counter;
}

class Random {
 public:
  // This agent's own numbers.
  static WW_METHOD Random agent() { return Random((uint32_t)agent_id()); }
  // The same numbers for every agent of the env: no barrier is needed to agree on a draw.
  static WW_METHOD Random env() { return Random(0xFFFFu); }
  // Numbers of an agent known by another index, for kernels whose threads are not the env's agents.
  static WW_METHOD Random of(int agent) { return Random((uint32_t)agent); }
  // The same as another kernel's numbers, for one kernel that does the work of several.
  static WW_METHOD Random of(int agent, int kernel) { return Random((uint32_t)agent, kernel); }

  // 32 random bits.
  WW_METHOD uint32_t bits() {
    if (left_ == 0) {
      words_ = ww_philox(counter_, (uint32_t)key_, (uint32_t)(key_ >> 32));
      counter_.x++;
      left_ = 4;
    }
#ifdef WW_CHECK
    ww_check_draw(counter_.w & 0xFFFFu, ((counter_.x - 1) << 2) + (uint32_t)(4 - left_));
#endif
    const uint32_t word = words_.x;
    words_ = ww_uint4{words_.y, words_.z, words_.w, 0u};
    left_--;
    return word;
  }

  // In [0, 1), a multiple of 2^-24.
  WW_METHOD float uniform() { return (float)(bits() >> 8) * 5.9604644775390625e-8f; }
  WW_METHOD float uniform(float low, float high) { return low + (high - low) * uniform(); }

  // A whole number in 0 .. n-1; each probability is exact to within 1 / 2^32.
  WW_METHOD uint32_t below(uint32_t n) { return (uint32_t)(((uint64_t)bits() * n) >> 32); }

  // Standard normal, by Box and Muller (1958); two draws. Equal on both backends up to the math library's rounding.
  WW_METHOD float normal() {
    const float radius = sqrtf(-2.0f * logf(1.0f - uniform()));
    return radius * cosf(6.2831853071795865f * uniform());
  }

 private:
  WW_METHOD explicit Random(uint32_t agent) : Random(agent, ww_kernel_index()) {}
  WW_METHOD Random(uint32_t agent, int kernel) : key_(0u), words_{0u, 0u, 0u, 0u}, left_(0) {
    const int env = env_id();
    const uint64_t clock = ww_world().clock[env];
    key_ = ww_world().key[env];
    counter_ = ww_uint4{(uint32_t)kernel << 28, ww_world().stream[env], (uint32_t)clock,
                        agent | (uint32_t)(clock >> 32) << 16};
  }

  uint64_t key_;
  ww_uint4 counter_, words_;
  int left_;
};
