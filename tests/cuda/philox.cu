// cuRAND's Philox4x32-10: bits by ones and by fours, and what they become.
#include <curand_kernel.h>

extern "C" __global__ void draw(const uint64_t* seeds, unsigned* words, float* floats, double* doubles) {
  const uint64_t* s = seeds + agent_index() * 3;
  unsigned* w = words + agent_index() * 12;
  float* f = floats + agent_index() * 8;
  double* d = doubles + agent_index() * 4;
  curandStatePhilox4_32_10_t state;
  curand_init(s[0], s[1], s[2], &state);
  for (int i = 0; i < 5; i++) w[i] = curand(&state);
  const uint4 four = curand4(&state);
  w[5] = four.x, w[6] = four.y, w[7] = four.z, w[8] = four.w;
  skipahead(6, &state);
  w[9] = curand(&state);
  skipahead_sequence(3, &state);
  w[10] = curand(&state), w[11] = curand(&state);

  curand_init(s[0], s[1], s[2], &state);
  f[0] = curand_uniform(&state);
  const float4 u = curand_uniform4(&state);
  f[1] = u.x, f[2] = u.w;
  curand_init(s[0], s[1], s[2], &state);
  f[3] = curand_normal(&state), f[4] = curand_normal(&state);
  const float4 n = curand_normal4(&state);
  f[5] = n.x, f[6] = n.w, f[7] = curand_log_normal(&state, 0.5f, 0.1f);

  curand_init(s[0], s[1], s[2], &state);
  d[0] = curand_uniform_double(&state);
  const double2 n2 = curand_normal2_double(&state);
  d[1] = n2.x, d[2] = n2.y, d[3] = curand_uniform2_double(&state).y;
}
