// Every atomic function, by all agents of all envs on the same few words.
#include <warpworld.cuh>

extern "C" __global__ void add(int* i, unsigned* u, unsigned long long* l, float* f, double* d, int* tickets) {
  const int n = agent_index();
  tickets[n] = atomicAdd(&i[0], 1);
  atomicSub(&i[1], n);
  atomicAdd(&u[0], 3u);
  atomicAdd(&l[0], (unsigned long long)n << 32);
  atomicAdd(&f[0], 1.0f);
  atomicAdd(&d[0], 0.5);
}

extern "C" __global__ void compare(int* i, unsigned* u, unsigned long long* l, float* f) {
  const int n = agent_index(), scrambled = (n * 7919 + 13) % 10007 - 5000;
  atomicMin(&i[0], scrambled);
  atomicMax(&i[1], scrambled);
  atomicMin(&u[0], (unsigned)scrambled);
  atomicMax(&l[0], (unsigned long long)(scrambled + 5000) << 40);
  int seen = atomicCAS((int*)&f[0], 0, 0);  // largest float by compare and swap
  while (__int_as_float(seen) < (float)scrambled) {
    const int before = atomicCAS((int*)&f[0], seen, __float_as_int((float)scrambled));
    if (before == seen) break;
    seen = before;
  }
}

extern "C" __global__ void bits(unsigned* u, unsigned long long* l) {
  const int n = agent_index();
  atomicOr(&u[0], 1u << n % 20);
  atomicAnd(&u[1], ~(1u << n % 20));
  atomicXor(&u[2], (unsigned)n);
  atomicOr(&l[0], (unsigned long long)1 << n % 50);
}

// Exchanged values are each seen once; counters wrap.
extern "C" __global__ void exchange(unsigned* u, int* tickets) {
  const int n = agent_index();
  tickets[n] = (int)atomicExch(&u[0], (unsigned)n + 1u);
  atomicInc(&u[1], 9u);
  atomicDec(&u[2], 6u);
}

// Within an env, on shared memory.
extern "C" __global__ void histogram(const int* whole, int* counts) {
  ENV_SHARED(int, bins, 4);
  if (lane() < 4) bins[lane()] = 0;
  sync_env();  // bins are cleared
  atomicAdd(&bins[(unsigned)whole[agent_index()] % 4u], 1);
  sync_env();  // bins are full
  if (lane() < 4) counts[env_id() * 4 + lane()] = bins[lane()];
}
