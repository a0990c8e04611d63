// Of CUDA: what it declares is there without it.
#pragma once

#include "curand_kernel.h"
