// What a GPU may do and a plain run on the host does not: blocks and threads run in any order, and memory that was never
// written holds anything. A seed other than 0 chooses both. All choices are functions of the seed and of how many were
// made since it was set, so that a failure can be repeated.
#pragma once

#include <stdint.h>

// The driver exports it; modules read it.
struct stand_in_perturbation {
  uint64_t seed, choices;
};
extern "C" __attribute__((visibility("default"))) stand_in_perturbation stand_in_perturbed;

namespace stand_in {

static inline bool is_perturbed() { return stand_in_perturbed.seed != 0; }

// The last step of SplitMix64.
static inline uint64_t mixed(uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
  return bits ^ bits >> 31;
}

static inline uint64_t draw() {
  return mixed(mixed(stand_in_perturbed.seed) + ++stand_in_perturbed.choices * 0x9E3779B97F4A7C15u);
}

static inline unsigned draw_below(unsigned limit) { return (unsigned)((draw() >> 32) * limit >> 32); }

}  // namespace stand_in
