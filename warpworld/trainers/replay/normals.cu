// Standard normal numbers for one update of a learner: a function of its replay's key, the update's number, the process and
// the place in the array. COUNT is how many.
//
// Arrays: key (1,), update (1,): of the replay, see priorities.cu; normals (COUNT,). 0xFFFD is neither an agent nor the
// word that draws from the replay use, so none of these numbers is drawn elsewhere.
#include "replay.cuh"

// Box and Muller (1958), from two random words.
__device__ inline void write_pair(uint32_t first, uint32_t second, float* normals, int i) {
  const float radius = sqrtf(-2.0f * logf(((float)(first >> 8) + 1.0f) * 5.9604644775390625e-8f));
  const float angle = 6.2831853071795865f * ((float)(second >> 8) * 5.9604644775390625e-8f);
  if (i < COUNT) normals[i] = radius * cosf(angle);
  if (i + 1 < COUNT) normals[i + 1] = radius * sinf(angle);
}

extern "C" __global__ void draw_normals(const uint64_t* key, const uint64_t* update, float* normals, int num_envs) {
  const uint32_t low = (uint32_t)update[0], high = (uint32_t)(update[0] >> 32);
  for (int block = first_lane(); block * 4 < COUNT; block += all_lanes(num_envs)) {
    const ww_uint4 counter{(uint32_t)block, (uint32_t)ww_world().first_env, low, 0xFFFDu | high << 16};
    const ww_uint4 words = ww_philox(counter, (uint32_t)key[0], (uint32_t)(key[0] >> 32));
    write_pair(words.x, words.y, normals, block * 4);
    write_pair(words.z, words.w, normals, block * 4 + 2);
  }
}
