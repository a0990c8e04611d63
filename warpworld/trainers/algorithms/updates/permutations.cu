// Sort keys of a random permutation of a rollout's rows: a function of a seed, of the number of the pass that goes
// through them, and of the place in the array. COUNT is how many.
//
// Arrays: seed (2,), words of the seed, behind which other numbers may stand; epoch (1,), the number; keys (COUNT,). 0xFFFC
// is neither an agent nor the word that other kernels draw by, so none of these numbers is drawn elsewhere.
#include "replay.cuh"

extern "C" __global__ void draw_keys(const int32_t* seed, const int64_t* epoch, int64_t* keys, int num_envs) {
  for (int pair = first_lane(); pair * 2 < COUNT; pair += all_lanes(num_envs)) {
    const ww_uint4 counter{(uint32_t)pair, (uint32_t)epoch[0], 0u, 0xFFFCu};
    const ww_uint4 words = ww_philox(counter, (uint32_t)seed[0], (uint32_t)seed[1]);
    keys[pair * 2] = (int64_t)((uint64_t)words.x << 32 | words.y);
    if (pair * 2 + 1 < COUNT) keys[pair * 2 + 1] = (int64_t)((uint64_t)words.z << 32 | words.w);
  }
}
