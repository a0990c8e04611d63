// Pig, a game of dice: a turn is rolled as often as the player dares, and a 1 takes all of its points.
#pragma once

#include <stdint.h>
#include <string.h>

#include <random>
#include <stdexcept>
#include <vector>

class Pig {
 public:
  // Starts a game; equal seeds give equal dice.
  void begin(uint32_t seed) {
    dice.seed(seed);
    rolls.clear();
    turns = 0;
  }

  // Rolls the die or ends the turn. Returns the points of a turn that was ended, else 0.
  int play(bool roll) {
    if (roll) {
      rolls.push_back(1 + (int)(dice() % 6));
      if (rolls.back() > 1) return 0;
    }
    const int won = roll ? 0 : points();
    rolls.clear();
    ++turns;
    return won;
  }

  // Points of the current turn.
  int points() const {
    int sum = 0;
    for (int eyes : rolls) sum += eyes;
    return sum;
  }

  int turns = 0;  // that have ended

  // What follows is for the world: states, forks and checkpoints hold what `save` writes, all that the future depends on.
  size_t size() const { return sizeof turns + sizeof dice + rolls.size() * sizeof(int); }

  void save(uint8_t* to) const {
    memcpy(to, &turns, sizeof turns);
    memcpy(to += sizeof turns, &dice, sizeof dice);
    memcpy(to + sizeof dice, rolls.data(), rolls.size() * sizeof(int));
  }

  void load(const uint8_t* from, size_t size) {
    const size_t before = sizeof turns + sizeof dice;
    if (size < before) throw std::length_error("a state of Pig has " + std::to_string(before) + " bytes or more");
    memcpy(&turns, from, sizeof turns);
    memcpy(&dice, from + sizeof turns, sizeof dice);
    rolls.resize((size - before) / sizeof(int));
    memcpy(rolls.data(), from + before, rolls.size() * sizeof(int));
  }

 private:
  std::minstd_rand dice;
  std::vector<int> rolls;  // of the current turn
};
