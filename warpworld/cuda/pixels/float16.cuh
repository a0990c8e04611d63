// Pixels of cameras as float16: what comes before kernels that see where `dtype` is float16. A float that is stored in a
// Pixel is rounded to the nearest.
#pragma once

#include <half.cuh>

using Pixel = __half;
