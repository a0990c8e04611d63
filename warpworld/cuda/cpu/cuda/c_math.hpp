// The C library's math functions. C++17 adds special ones (Legendre polynomials, zeta), which device code does not have:
// without them a kernel file is read in two thirds of the time.
#pragma once

#include <type_traits>  // has the settings of GCC's library

#ifdef _GLIBCXX_USE_STD_SPEC_FUNCS
#pragma push_macro("_GLIBCXX_USE_STD_SPEC_FUNCS")
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#define _GLIBCXX_USE_STD_SPEC_FUNCS 0
#include <math.h>
#pragma pop_macro("_GLIBCXX_USE_STD_SPEC_FUNCS")
#else
#include <math.h>
#endif
