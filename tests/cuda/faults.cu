// Kernels with one fault each, chosen by `mode`, in agent `bad_agent` of env `bad_env` (of every env if that is -1). Lines
// that tests look for end in a comment with the mode's name.
#include <warpworld.cuh>

enum Mode { right, assertion, trap, null_pointer, wild_pointer, division, recursion, endless, barriers, give_up };

__device__ int deep(int n) { volatile int x[32] = {n}; return n == 0 ? 0 : deep(n - 1) + x[n & 31]; }  // recursion

__device__ void fail(int mode, float* x, const int* zeros) {
  const int i = agent_index();
  if (mode == assertion) assert(zeros[0] == 1 && "one");  // assertion
  if (mode == trap) __trap();                             // trap
  if (mode == null_pointer) {
    float* nowhere = x - (x - (float*)0) + zeros[0];
    *(volatile float*)nowhere = 1.0f;  // null_pointer
  }
  if (mode == wild_pointer) x[(1l << 40) + zeros[0]] = 2.0f;  // wild_pointer
  if (mode == division) x[i] = (float)(i / zeros[0]);         // division
  if (mode == recursion) x[i] = (float)deep(100000000 + zeros[0]);
  if (mode == give_up) abort();
  while (mode == endless && *(volatile const int*)zeros == 0) {  // endless
  }
}

extern "C" __global__ void step(const int* mode, const int* late, const int* bad_env, const int* bad_agent,
                                const int* zeros, float* x) {
  if (!is_active()) return;
  if (*late) sync_env();
  if ((env_id() == *bad_env || *bad_env < 0) && agent_id() == *bad_agent) fail(*mode, x, zeros);
  while (*mode == barriers && *(volatile const int*)zeros == 0) sync_env();
  sync_env();
  x[agent_index()] += 1.0f;
}

// Local variables that no stack holds.
extern "C" __global__ void wide(const int* late, const int* zeros, float* x) {
  if (*late) sync_env();
  volatile char here[FRAME];
  for (int k = 0; k < FRAME; k += 1000) here[k] = (char)(k + zeros[0]);
  sync_env();
  x[agent_index()] += here[FRAME / 2];
}

extern "C" __global__ void diverge(const int* mode, float* x) {
  if (*mode == 1 && agent_id() % 2 == 1)
    sync_env();  // one site
  else
    sync_env();  // another site
  x[agent_index()] += 1.0f;
}
