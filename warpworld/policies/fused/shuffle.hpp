// Shuffles numbers into parts: the rows of a pass into minibatches.
//
// Within a part they ascend, so that memory is read from its beginning to its end. A loss sums over its minibatch, for which
// the order within it does not matter.
#pragma once

#include "vectors.hpp"

namespace fused {

// Random words: Philox4x32-10 (cuda/random.cuh names its source) for as many counters at once on every processor, so that
// all draw the same.
struct Words {
  static constexpr int counters = 16, at_once = 4 * counters;
  uint32_t key[2];
  uint32_t drawn = 0;  // counters so far
  uint32_t words[at_once];
  int used = at_once;

  void draw() {
    uint32_t *x = words, *y = x + counters, *z = y + counters, *w = z + counters;
    for (int i = 0; i < counters; i++) x[i] = drawn + i, y[i] = 0, z[i] = 0, w[i] = 0;
    uint32_t key_0 = key[0], key_1 = key[1];
    for (int round = 0; round < 10; round++) {
      for (int i = 0; i < counters; i++) {
        const uint64_t product_0 = (uint64_t)0xD2511F53u * x[i], product_1 = (uint64_t)0xCD9E8D57u * z[i];
        x[i] = (uint32_t)(product_1 >> 32) ^ y[i] ^ key_0;
        z[i] = (uint32_t)(product_0 >> 32) ^ w[i] ^ key_1;
        y[i] = (uint32_t)product_1;
        w[i] = (uint32_t)product_0;
      }
      key_0 += 0x9E3779B9u;
      key_1 += 0xBB67AE85u;
    }
    drawn += counters;
    used = 0;
  }

  // A number below n from the next word; each is equally likely, to within n / 2^32.
  uint32_t below(uint32_t n) {
    if (used == at_once) draw();
    return (uint64_t)words[used++] * n >> 32;
  }
};

// Of one pass; fused/shuffling.py mirrors it.
struct Shuffle {
  int64_t count, parts;  // below 2^32 and 2^31; the first count % parts parts have one number more than the others
  const int64_t* seed;   // (2,), each below 2^32
  int32_t* part_of;      // (count in whole draws,): room
  int64_t* places;       // (parts,): room
  int64_t* order;        // (count,): the numbers part by part

  int64_t length(int64_t part) const { return count / parts + (part < count % parts); }
};

// Draws numbers, and moves those of parts that have too many, until no part has. `spare` is how many more a part takes.
static void even_out(const Shuffle& shuffle, Words& words, int64_t* spare) {
  for (int64_t part = 0; part < shuffle.parts;) {
    if (spare[part] <= 0) {
      part++;
      continue;
    }
    int32_t& of_drawn = shuffle.part_of[words.below(shuffle.count)];
    if (spare[of_drawn] >= 0) continue;
    spare[of_drawn]++;
    spare[part]--;
    of_drawn = part;
  }
}

// Each number goes to a part by itself, then parts are evened out. Both treat all numbers alike, so that all permutations
// them are equally likely.
static void shuffle_pass(const Shuffle& shuffle) {
  Words words{{(uint32_t)shuffle.seed[0], (uint32_t)shuffle.seed[1]}};
  for (int64_t part = 0; part < shuffle.parts; part++) shuffle.places[part] = shuffle.length(part);
  for (int64_t first = 0; first < shuffle.count; first += Words::at_once) {
    words.draw();
    for (int i = 0; i < Words::at_once; i++) shuffle.part_of[first + i] = (uint64_t)words.words[i] * shuffle.parts >> 32;
  }
  for (int64_t i = 0; i < shuffle.count; i++) shuffle.places[shuffle.part_of[i]]--;
  words.used = Words::at_once;
  even_out(shuffle, words, shuffle.places);
  for (int64_t part = 0, next = 0; part < shuffle.parts; next += shuffle.length(part++)) shuffle.places[part] = next;
  for (int64_t i = 0; i < shuffle.count; i++) shuffle.order[shuffle.places[shuffle.part_of[i]]++] = i;
}

}  // namespace fused
