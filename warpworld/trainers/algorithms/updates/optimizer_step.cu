// A step of Adam, or with MUON of Muon, along a gradient in one launch, with the limit of its length.
//
// Tensors are torch's own and contiguous, so that parameters are their addresses. The first `num_envs` envs are blocks that work,
// in turns (in_turn.cuh): `parts` squared lengths of parts of the gradient, as many parts of the step, and Muon's phases. Results
// do not depend on which block did what.
#include "in_turn.cuh"
#include "optimizer_steps.cuh"

struct Shared {
  Sums sums;
  int turn;
};

// vector and gradient (size,); squares (parts,) double; length (): of the gradient before, which is scaled down to the longest
// one, or not where that is 0.
extern "C" __global__ void take_step(int64_t vector, int64_t gradient, int64_t squares, int64_t length, int size,
                                     float longest, Adam adam, int parts, int64_t counters, int num_envs) {
  if (env_id() >= num_envs) return;
  ENV_SHARED(Shared, shared, 1);
  ENV_SHARED(float, numbers, MUON ? NUMBERS_OF_TILES : 1);
  const Turns turns{counters};
  Sums& sums = shared[0].sums;
  float* along = (float*)gradient;
  for (;;) {
    const int turn = turns.take(shared[0].turn);
    if (turn >= 2 * parts + turns_of_matrices(adam)) break;
    if (turn < parts) {
      double some = 0.0;
      for (int i = turn * LANES + lane(); i < size; i += parts * LANES) some += (double)along[i] * (double)along[i];
      const double sum = sum_of_lanes(sums, some);
      if (lane() == 0) ((double*)squares)[turn] = sum;
    } else if (turn < 2 * parts) {
      turns.wait_for(parts);
      double some = 0.0;
      for (int i = lane(); i < parts; i += LANES) some += ((const double*)squares)[i];
      const float before = (float)sqrt(sum_of_lanes(sums, some));
      if (turn == parts && lane() == 0) *(float*)length = before;
      move_along(adam, *(const float*)adam.rate, 0, scale_of(before, longest), along, (float*)vector,
                 (turn - parts) * LANES + lane(), parts * LANES, size);
    } else {
      const int of_matrices = turn - 2 * parts;
      turns.wait_for(2 * parts + phase_of(adam.muon, of_matrices));
      take_turn(adam.muon, of_matrices, *(const float*)adam.rate, (float*)vector, numbers, sums);
    }
    turns.done();
  }
  if (turns.leave(num_envs)) *(float*)adam.steps += 1.0f;
}
