// What nvcc takes from the system's headers without being asked, and NVRTC does not have.
#pragma once

#include <stdint.h>

#define INFINITY __int_as_float(0x7F800000)
#define NAN __int_as_float(0x7FC00000)
