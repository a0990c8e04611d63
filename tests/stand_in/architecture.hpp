// What of CUDA's words depends on the GPU; cuda_on_host.hpp, which comes before it, does not.
#define __CUDA_ARCH__ STAND_IN_ARCHITECTURE
