// Sums over the lanes of an env, in an order that is always the same. LANES is a power of two, and an env has that many lanes at
// most.
#pragma once

#include <warpworld.cuh>

// What an env's lanes share.
struct Sums {
  double of_lanes[LANES];
};

// The sum of a number of all lanes of the env, in the order of lanes, for each lane.
__device__ inline double sum_of_lanes(Sums& sums, double number) {
  sync_env();  // orders the reading of the sum before
  sums.of_lanes[lane()] = number;
  for (int stride = LANES / 2; stride > 0; stride /= 2) {
    sync_env();  // orders the halves before they are added
    if (lane() < stride && lane() + stride < num_lanes()) sums.of_lanes[lane()] += sums.of_lanes[lane() + stride];
  }
  sync_env();  // orders the sum before it is read
  return sums.of_lanes[0];
}
