// Clears an agent's bytes, which the same lane then sets one by one.
#pragma once

#include <warpworld.cuh>

// COUNT bytes, which lie at a multiple of them, in words: a GPU takes as long for a store of one byte as for one of sixteen. What
// follows would be free to come before words in a type that is not bool; the barrier is the compiler's alone.
template <int COUNT>
WW_FUNCTION void clear_bytes(bool* bytes) {
#if defined(__CUDACC__)
  constexpr int word = COUNT % 16 == 0 ? 16 : COUNT % 8 == 0 ? 8 : COUNT % 4 == 0 ? 4 : 1;
#pragma unroll 4
  for (int k = 0; k < COUNT / word; ++k) {
    if (word == 16) ((uint4*)bytes)[k] = make_uint4(0u, 0u, 0u, 0u);
    if (word == 8) ((uint2*)bytes)[k] = make_uint2(0u, 0u);
    if (word == 4) ((unsigned*)bytes)[k] = 0u;
    if (word == 1) bytes[k] = false;
  }
  asm volatile("" ::: "memory");
#else
  for (int k = 0; k < COUNT; ++k) bytes[k] = false;
#endif
}
