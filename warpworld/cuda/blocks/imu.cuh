// The kernel of the block IMU: what agents feel of their own motion.
#pragma once

#include <indoor.cuh>

// Reads velocity, angles and angvelocity; writes observations_imu.
extern "C" __global__ void feel_motion(const float2* positions, const float2* velocity, const float* angles,
                                       const float* angvelocity, float* observations_imu) {
  if (!is_active()) return;
  const int i = agent_index();
  feel(Motion{positions[i], velocity[i], angles[i], angvelocity[i]}, observations_imu + 3 * i);
}
