// The reward that is learnt from: the environment's times REWARD_SCALE, cut off at the size REWARD_CLIP, where 0 cuts nothing.
#pragma once

__device__ inline float learnt_reward(float reward) {
  const float scaled = REWARD_SCALE * reward;
  return REWARD_CLIP > 0.0f ? fminf(fmaxf(scaled, -REWARD_CLIP), REWARD_CLIP) : scaled;
}
