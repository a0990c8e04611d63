#include "../../cpu/toolkit/math_constants.h"
