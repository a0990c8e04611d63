// Agents meet at barriers and leave at random: before the first, between two, after the last.
#include <warpworld.cuh>

#define ROUNDS 6

__device__ unsigned mixed(unsigned x) {
  x = (x ^ x >> 16) * 0x7FEB352Du;
  x = (x ^ x >> 15) * 0x846CA68Bu;
  return x ^ x >> 16;
}

// last_rounds: rounds that each agent stays for, 0 .. ROUNDS.
extern "C" __global__ void mingle(const int* last_rounds, unsigned* words, float* sums) {
  if (!is_active()) return;
  ENV_SHARED(unsigned, board, NUM_AGENTS);
  const int i = agent_index();
  unsigned word = mixed((unsigned)i);
  float sum = 0.0f;
  board[agent_id()] = word;
  words[i] = word;
  sums[i] = sum;
  for (int round = 0; round < ROUNDS; ++round) {
    if (round == last_rounds[i]) return;
    sync_env();  // every word of the round before is written
    const unsigned other = board[(agent_id() + round + 1) % NUM_AGENTS];
    sync_env();  // every word of the round before is read
    word = mixed(word ^ other);
    board[agent_id()] = word;
    words[i] = word;
    sum += (float)(word >> 8) * 0.1f;
    sums[i] = sum;
  }
}
