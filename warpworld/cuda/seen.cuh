// Which texels of a plan's walls have been seen: a bit for each, in words of 32.
#pragma once

#include "indoor.cuh"

// Sets the bits of the texels that some rays have met, and calls on_new(word, bit) for each that was not set before.
// first_texel: of the plan.
template <class Rays, class OnNew>
WW_FUNCTION void mark_seen(unsigned* seen, int first_texel, const Rays& rays, OnNew on_new) {
  int last = -1;
  for (const int texel : rays.texel) {
    if (texel < 0 || texel == last) continue;
    last = texel;
    const unsigned at = (unsigned)(texel - first_texel), bit = 1u << at % 32u;
    if (!(atomicOr(&seen[at / 32u], bit) & bit)) on_new(at / 32u, bit);
  }
}
