// Work that blocks share in turns: numbered from 0, in phases of which each begins when those before it are complete.
//
// A block takes the next number that is left, and waits until the phases before are done. All smaller numbers were taken before,
// by blocks that run: a block waits for running blocks alone, and never for one that has not begun (the argument of Merrill and
// Garland 2016, "Single-pass parallel prefix scan with decoupled look-back", section 4.4). So any number of blocks may be on the
// device at once, down to a single one, and they may begin in any order. The assumption is that a running block keeps making
// progress while others wait, which holds on GPUs from compute capability 7.0 on, and where blocks run one after the other.
//
// Counters lie in memory that begins as zeros, and are zeros again when a launch has ended.
#pragma once

#include <warpworld.cuh>

struct Turns {
  int64_t counters;  // (3,) int32: the next number, how many are done, and how many blocks have left

  __device__ int* at(int i) const { return (int*)counters + i; }

  // The next number, for all lanes of the block; `shared` is theirs.
  __device__ int take(int& shared) const {
    sync_env();  // orders the reading of the number before
    if (lane() == 0) shared = atomicAdd(at(0), 1);
    sync_env();  // orders the number before it is read
    return shared;
  }

  // Waits until all numbers below `first` are done; what their blocks wrote is then read.
  __device__ void wait_for(int first) const {
    if (lane() == 0) {
      while (*(volatile int*)at(1) < first) __nanosleep(64);
      __threadfence();  // orders the counter before what is read behind it, also in other lanes: a barrier follows
    }
    sync_env();  // orders the wait before all lanes' reading
  }

  // Says that the block's number is done.
  __device__ void done() const {
    sync_env();  // orders all lanes' writing before the count
    if (lane() == 0) {
      __threadfence();  // orders what the block wrote before the counter, for all blocks
      atomicAdd(at(1), 1);
    }
  }

  // Whether the block is the last of `blocks` that leaves, for lane 0; the counters are zeros then.
  __device__ bool leave(int blocks) const {
    if (lane() != 0) return false;
    __threadfence();  // orders what the block read before the count
    if (atomicAdd(at(2), 1) < blocks - 1) return false;
    __threadfence();  // orders the others' reading before what is written now
    *at(0) = *at(1) = *at(2) = 0;
    return true;
  }
};
