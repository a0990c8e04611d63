// Of CUDA: what it declares is there without it.
#pragma once

#include "../cuda_words.hpp"
