// Copies the observations of a batch from where a ring holds them. Pictures make this the longest part of a draw.
//
// Where an env's lanes run side by side, they take neighbouring numbers, sixteen bytes each if an observation is a
// multiple of that. A lane that copies alone is bound by memory. It fetches the next observation while it writes this
// one, since no hardware foresees which one is next. It writes a batch that no cache holds past the caches, which spares
// reading what is about to be overwritten.
#pragma once

#include "finite.cuh"

#if defined(__SSE2__) && !defined(WW_CHECK) && !defined(WW_ENVS_PER_WARP)
#include <emmintrin.h>
#define WW_STREAMS
#endif

constexpr size_t CACHE_BYTES = 8 << 20;  // of a batch that may still be in a cache when it is read

struct alignas(16) Sixteen {
  uint32_t words[4];
};

__device__ inline unsigned char finite_or_zero(unsigned char number) { return number; }
__device__ inline float finite_or_zero(float number) { return is_finite(number) ? number : 0.0f; }

// One observation by the lanes of an env.
template <int COUNT, bool FINITE, typename Number>
__device__ inline void copy_frame(const Number* __restrict__ source, Number* __restrict__ target) {
  const int first = LANES_SIDE_BY_SIDE ? lane() : 0, stride = LANES_SIDE_BY_SIDE ? num_lanes() : 1;
  for (int n = first; n < COUNT; n += stride) {
    if constexpr (FINITE)
      target[n] = source ? finite_or_zero(source[n]) : Number{};
    else
      target[n] = source ? source[n] : Number{};
  }
}

#ifdef WW_STREAMS
// One observation of BYTES, past the caches.
template <int BYTES>
inline void stream_frame(const char* source, char* target, const char* next) {
  for (int at = 0; at < BYTES; at += 16) {
    if (at % 64 == 0 && next) _mm_prefetch(next + at, _MM_HINT_T0);
    const __m128i sixteen = source ? _mm_loadu_si128((const __m128i*)(source + at)) : _mm_setzero_si128();
    _mm_stream_si128((__m128i*)(target + at), sixteen);
  }
}
#endif

// Writes TOTAL observations of COUNT numbers each, successive ones by the same env. `source_of` gives where one is read
// from, or null for zeros. With FINITE, numbers that are not finite are written as 0.
template <int TOTAL, int COUNT, bool FINITE, typename Number, typename Source>
__device__ void copy_frames(Number* batch, int num_envs, const Source& source_of) {
  constexpr int BYTES = COUNT * sizeof(Number);
  const int share = (TOTAL + num_envs - 1) / num_envs, first = env_id() * share;
  const int end = first + share < TOTAL ? first + share : TOTAL;
#ifdef WW_STREAMS
  if constexpr (!FINITE && BYTES % 16 == 0 && (size_t)TOTAL * BYTES > CACHE_BYTES) {
    const Number* source = first < end ? source_of(first) : nullptr;
    for (int k = first; k < end; ++k) {
      const Number* next = k + 1 < end ? source_of(k + 1) : nullptr;
      stream_frame<BYTES>((const char*)source, (char*)(batch + (size_t)k * COUNT), (const char*)next);
      source = next;
    }
    _mm_sfence();  // orders these writes before whatever reads the batch
    return;
  }
#endif
  for (int k = first; k < end; ++k) {
    const Number *source = source_of(k);
    Number* target = batch + (size_t)k * COUNT;
    if constexpr (LANES_SIDE_BY_SIDE && !FINITE && BYTES % 16 == 0)
      copy_frame<BYTES / 16, false>((const Sixteen*)source, (Sixteen*)target);
    else
      copy_frame<COUNT, FINITE>(source, target);
  }
}
