// Of CUDA: NVRTC has built in what kernels use of it.
#pragma once
