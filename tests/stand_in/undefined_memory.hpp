// Fills what a GPU leaves undefined: allocated memory, the shared memory of a block, and the stacks of its threads.
#pragma once

#include <string.h>

#include "modules.hpp"
#include "perturbation.hpp"

namespace stand_in {

constexpr size_t stack_bytes_filled = 8192;  // of each thread: the frames of its first calls

// All bits set, a signalling NaN, a large negative integer that is a small float, or any number.
static uint32_t undefined_word() {
  const uint64_t bits = draw();
  switch (bits & 3) {
    case 0: return 0xFFFFFFFFu;
    case 1: return 0x7F800001u;
    case 2: return 0xA5A5A5A5u;
    default: return (uint32_t)(bits >> 32);
  }
}

static void fill_undefined(char* memory, size_t bytes) {
  for (size_t done = 0; done < bytes; done += sizeof(uint32_t)) {
    const uint32_t word = undefined_word();
    memcpy(memory + done, &word, bytes - done < sizeof word ? bytes - done : sizeof word);
  }
}

static void fill_stacks(const ww_launch& launch) {
  char pattern[stack_bytes_filled];
  fill_undefined(pattern, sizeof pattern);
  for (unsigned t = 0; t < launch.threads; t++)
    memcpy(launch.stacks + (t + 1) * launch.stack_stride - sizeof pattern, pattern, sizeof pattern);
}

// What a block finds when it begins.
static void fill_before_block(const SharedMemory& shared, const ww_launch& launch) {
  fill_undefined(address_of(shared), shared.bytes);
  fill_stacks(launch);
}

}  // namespace stand_in
