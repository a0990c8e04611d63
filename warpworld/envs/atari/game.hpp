// A game of the Arcade Learning Environment with the usual rules around it: several frames a step, actions that stick, no-ops
// and FIRE at the start, episodes that end with a life.
//
// The library's resets draw memory and timers from a generator that is in none of its states. So the library resets some times,
// once for all games of a process, and each episode begins with one of the states that this gives.
#pragma once

#include <stdint.h>
#include <string.h>

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "arcade.hpp"
#include "frames.hpp"

struct Rules {
  float repeat_action_probability;
  int frameskip, noop_max, max_num_frames_per_episode;
  bool episodic_life, use_fire_reset;
};

class Game {
 public:
  static constexpr int num_starts = 16;

  float reward() const { return gained; }
  int lives() const { return own.lives; }
  bool is_terminated() const { return own.is_over || own.has_lost_life; }
  bool is_truncated() const { return own.is_cut && !is_terminated(); }

  // Plays a step's frames; `numbers` draws whether the action before sticks.
  template <class Numbers>
  void step(const Rules& rules, int action, Numbers& numbers) {
    gained = 0.0f;
    own.has_lost_life = false;
    bool has_before = false;
    for (int left = rules.frameskip; left > 0; --left) {
      if (rules.repeat_action_probability <= 0.0f || numbers.uniform() >= rules.repeat_action_probability)
        own.action = action;
      play(own.action);
      const int lives = emulator->lives();
      own.has_lost_life = rules.episodic_life && lives < own.lives && lives > 0;
      own.is_over = emulator->game_over(false);
      own.is_cut = own.frames >= rules.max_num_frames_per_episode;
      if (own.is_over || own.is_cut || own.has_lost_life) break;
      if (left == 2) emulator->getScreenGrayscale(before);
      has_before |= left == 2;
    }
    own.lives = emulator->lives();
    emulator->getScreenGrayscale(now);
    if (!has_before) before = now;
  }

  // Begins an episode: the game that a lost life has left, or a new one.
  template <class Numbers>
  void begin(const Rules& rules, const char* rom, bool presses_fire, Numbers& numbers) {
    if (!emulator) load_rom(rom);
    const bool continues = own.has_lost_life && !own.is_cut;
    own.has_lost_life = own.is_over = own.is_cut = false;
    if (continues) {
      play(ale::PLAYER_A_NOOP);
    } else {
      start(rom, (int)numbers.below(num_starts));
      const int noops = rules.noop_max > 0 ? 1 + (int)numbers.below((unsigned)rules.noop_max) : 0;
      for (int k = 0; k < (noops > 0 ? noops : (int)presses_fire); ++k) {
        play(k == 0 && presses_fire ? ale::PLAYER_A_FIRE : ale::PLAYER_A_NOOP);
        if (emulator->game_over(false)) start(rom, 0);
      }
      own.frames = 0;
    }
    own.action = ale::PLAYER_A_NOOP;
    own.lives = emulator->lives();
    gained = 0.0f;
    if (played) emulator->getScreenGrayscale(now);
    before = now;
  }

  // The brighter of each pixel in the last two frames, (height, width).
  const std::vector<uint8_t>& frame() {
    uint8_t* __restrict last = now.data();  // no vector is made where bytes may be anything's
    const uint8_t* __restrict other = before.data();
    for (size_t k = 0, size = now.size(); k < size; ++k) last[k] = last[k] > other[k] ? last[k] : other[k];
    return now;
  }

  size_t size() const { return emulator ? sizeof own + emulator->cloneSystemState().serialize().size() : 0; }

  void save(uint8_t* to) const {
    if (!emulator) return;
    const std::string state = emulator->cloneSystemState().serialize();
    memcpy(to, &own, sizeof own);
    memcpy(to + sizeof own, state.data(), state.size());
  }

  void load(const char* rom, const uint8_t* from, size_t size) {
    if (size == 0) {
      emulator.reset();
      own = Own{};
      return;
    }
    if (size < sizeof own) throw std::runtime_error("a saved game has " + std::to_string(size) + " bytes");
    if (!emulator) load_rom(rom);
    memcpy(&own, from, sizeof own);
    emulator->restoreSystemState(ale::ALEState(std::string((const char*)from + sizeof own, size - sizeof own)));
  }

 private:
  // What is saved beside the emulator's state.
  struct Own {
    int action, lives, frames;
    bool is_over, is_cut, has_lost_life;
    bool unused;
  };

  struct Start {
    std::string state;
    std::vector<uint8_t> screen;
  };

  static std::unique_ptr<ale::ALEInterface> made(const char* rom) {
    ale::Logger::setMode(ale::Logger::Error);
    auto emulator = std::make_unique<ale::ALEInterface>();
    emulator->setInt("random_seed", 0);
    emulator->setFloat("repeat_action_probability", 0.0f);
    emulator->loadROM(rom);
    return emulator;
  }

  // The states after the library's first resets.
  static const std::vector<Start>& starts(const char* rom) {
    static std::vector<Start> all;
    static std::once_flag once;
    std::call_once(once, [&] {
      const auto emulator = made(rom);
      for (int k = 0; k < num_starts; ++k) {
        emulator->reset_game();
        all.push_back({emulator->cloneSystemState().serialize(), {}});
        emulator->getScreenGrayscale(all.back().screen);
      }
    });
    return all;
  }

  void load_rom(const char* rom) {
    emulator = made(rom);
    before = now = starts(rom)[0].screen;
  }

  void start(const char* rom, int number) {
    const Start& chosen = starts(rom)[number];
    emulator->restoreSystemState(ale::ALEState(chosen.state));
    now = chosen.screen;
    played = false;
  }

  void play(int action) {
    gained += (float)emulator->act((ale::Action)action, 1.0f);
    ++own.frames;
    played = true;
  }

  std::unique_ptr<ale::ALEInterface> emulator;
  Own own{};
  float gained = 0.0f;
  bool played = false;
  std::vector<uint8_t> before, now;
};
