// Pixels of cameras as float32: what comes before kernels that see where `dtype` is float32.
#pragma once

using Pixel = float;
