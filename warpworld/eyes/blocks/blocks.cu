// An environment of blocks alone has no kernels of its own: those of its blocks are in headers, which come before this.
#include <warpworld.cuh>
