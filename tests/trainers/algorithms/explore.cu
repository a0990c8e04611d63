// Draws one discrete action of each agent: with probability epsilon any choice, else the first of the highest values.
#include "sampling.cuh"

extern "C" __global__ void explore(const float* q_values, const float* epsilon, int* actions) {
  if (!is_active()) return;  // guard
  const float* values = q_values + (size_t)agent_index() * CHOICES;
  int best = 0;
  for (int i = 1; i < CHOICES; ++i)
    if (values[i] > values[best]) best = i;
  Random random = random_numbers();
  const bool explores = random.uniform() < epsilon[0];
  const int any = (int)random.below(CHOICES);
  actions[action_index()] = explores ? any : best;
}
