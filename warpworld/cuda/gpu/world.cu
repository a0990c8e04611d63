// A kernel that consists of the prologue alone: for the world's own work where no kernel of the env follows to do it.
#include <warpworld.cuh>

extern "C" __global__ void idle() {}
