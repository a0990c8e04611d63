// Batches that are copied from rings by given places; a negative place stands for zeros.
#include <frames.cuh>

extern "C" __global__ void copy_bytes(const unsigned char* ring, const int* places, unsigned char* batch, int num_envs) {
  copy_frames<FRAMES, NUMBERS, false>(batch, num_envs, [&](int k) -> const unsigned char* {
    return places[k] < 0 ? nullptr : ring + (size_t)places[k] * NUMBERS;
  });
}

extern "C" __global__ void copy_floats(const float* ring, const int* places, float* batch, int num_envs) {
  copy_frames<FRAMES, NUMBERS, ONLY_FINITE>(batch, num_envs, [&](int k) -> const float* {
    return places[k] < 0 ? nullptr : ring + (size_t)places[k] * NUMBERS;
  });
}
