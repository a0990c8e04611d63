// Random numbers that are drawn twice. The line that a finding names ends in its kernel's name, the other in "before".
#include <warpworld.cuh>

__device__ float noise() {
  Random random = Random::agent();
  return random.uniform();  // noise
}

__device__ float step_of(Random random) { return random.uniform(); }  // by_value before

__device__ float gust(Random& random) { return random.normal(); }

__device__ unsigned chosen() {
  Random random = Random::env();
  return random.below(NUM_AGENTS);  // agreed
}

extern "C" __global__ void two_generators(float* x, float* y) {
  if (!is_active()) return;
  Random place = Random::agent();
  x[agent_index()] = place.uniform();  // two_generators before
  Random speed = Random::agent();
  y[agent_index()] = speed.uniform();  // two_generators
}

extern "C" __global__ void two_of_the_env(float* x, float* y) {
  if (!is_active()) return;
  Random weather = Random::env();
  const float wind = weather.uniform();  // two_of_the_env before
  Random prices = Random::env();
  x[agent_index()] = wind + prices.uniform();  // two_of_the_env
}

extern "C" __global__ void by_value(float* x) {
  if (!is_active()) return;
  Random random = Random::agent();
  float sum = random.uniform();
  sum += step_of(random);
  x[agent_index()] = sum + random.uniform();  // by_value
}

extern "C" __global__ void in_a_loop(float* points) {
  if (!is_active()) return;
  for (int k = 0; k < 2; ++k) {
    Random random = Random::agent();
    points[2 * agent_index() + k] = random.uniform() + random.uniform();  // in_a_loop
  }
}

extern "C" __global__ void in_a_helper(float* x) {
  if (!is_active()) return;
  x[agent_index()] = noise() - noise();
}

extern "C" __global__ void agreed(float* x, float* y) {
  if (!is_active()) return;
  x[agent_index()] = chosen() == (unsigned)agent_id() ? 1.0f : 0.0f;
  y[agent_index()] = chosen() == (unsigned)agent_id() ? 1.0f : 0.0f;
}

extern "C" __global__ void by_another_name(float* x) {
  if (!is_active()) return;
  Random own = Random::agent(), first = Random::of(0);
  x[agent_index()] = own.uniform();        // by_another_name before
  if (agent_id() == 0) x[agent_index()] += first.uniform();  // by_another_name
}

// One generator of each kind, passed by reference, over many draws.
extern "C" __global__ void independent(float* x, float* y) {
  if (!is_active()) return;
  Random own = Random::agent(), all = Random::env();
  float sum = 0.0f;
  for (int k = 0; k < 9; ++k) sum += gust(own) + own.uniform() + all.uniform();
  Random copied = own;  // in the place of the other, which draws no more
  x[agent_index()] = sum + copied.uniform();
  y[agent_index()] = (float)all.below(4);
}
