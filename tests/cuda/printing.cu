// What tests/cuda/test_printf.py prints. `mode` picks what.
#include <cstdio>

#include <warpworld.cuh>

__device__ void tell(float x) { std::printf("x = %f\n", x); }

extern "C" __global__ void step(float* x, const int* mode, const int* length) {
  if (!is_active()) return;
  const int i = agent_index();
  x[i] = (float)i;
  switch (mode[0]) {
    case 1:
      if (agent_id() == 2) tell(x[i] / 2.0f);
      break;
    case 2:
      if (i == 0) printf("%s|%5.2f|%lld|%c|%%|%-3d|%x|%e\n", "text", 1.25, -9000000000LL, 'c', 7, 255, 1e-9);
      if (i == 0) printf("no arguments\n");
      if (i == 0) printf("");
      break;
    case 3:
      for (int part = 0; part < 3; part++) printf("%d ", part);
      if (agent_id() == 1) printf("\nnext");
      break;
    case 4:
      printf("before ");
      sync_env();
      printf("after\n");
      break;
    case 5:
      if (i == 0) printf("%0*d end\n", length[0], 1);
      break;
    case 6:
      for (int line = 0; line < 5; line++) printf("%030d\n", line);
      break;
    case 7:
      if (i == 0) printf("first\n\nthird\nfou");
      break;
    case 8:
      printf("about to fail");
      if (i == 1) *(volatile float*)nullptr = 0.0f;
      break;
    case 9:
      if (i == 0) printf("%s\n", (const char*)(uintptr_t)length[0]);
      break;
    case 10:
      for (volatile int go_on = 1; go_on;)
        if (i == 0) printf("again\n");
      break;
  }
}
