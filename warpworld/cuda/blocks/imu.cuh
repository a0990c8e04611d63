// The kernel of the block IMU: what agents feel of their own motion.
#pragma once

#include <indoor.cuh>

// Reads the motions; writes observations_imu.
extern "C" __global__ void feel_motion(Motions motions, float* observations_imu) {
  if (!is_active()) return;
  const int i = agent_index();
  feel(motions.load(i), observations_imu + 3 * i);
}
