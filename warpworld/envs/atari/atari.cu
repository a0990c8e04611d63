// Atari 2600 games: each env has a game of the Arcade Learning Environment, see game.hpp. Only a CPU can run this file.
//
// Arrays: actions (envs, 1) places in ACTIONS; observations (envs, STACK_NUM, IMG_HEIGHT, IMG_WIDTH) grey frames, the newest
// last; rewards (envs, 1) what the score gained; lives (envs,); terminated, truncated (envs,).
#include <resident.hpp>

#include "game.hpp"

__constant__ unsigned char ROM[4096];  // path of the game's file, zeros behind it
__constant__ int ACTIONS[18];          // the library's, by choice; no action behind the last
__constant__ int SCREEN[2];            // height and width of the game's screen

constexpr int PIXELS = IMG_HEIGHT * IMG_WIDTH, MOST_CHOICES = 18;

__device__ bool has_fire() {
  for (int action : ACTIONS) {
    if (action == ale::PLAYER_A_FIRE) return true;
  }
  return false;
}

// A game that knows its file, and makes its frames smaller.
class Cartridge : public Game {
 public:
  void load(const uint8_t* from, size_t size) { Game::load((const char*)ROM, from, size); }

  void show(uint8_t* seen) { shrinking.run(frame().data(), seen); }

 private:
  Shrinking shrinking{SCREEN[0], SCREEN[1], IMG_HEIGHT, IMG_WIDTH};
};

RESIDENT(Cartridge);

// Writes the newest frame behind those of before.
__device__ void show(Cartridge& game, unsigned char* observations) {
  unsigned char* seen = observations + (size_t)env_id() * STACK_NUM * PIXELS;
  memmove(seen, seen + PIXELS, (STACK_NUM - 1) * PIXELS);
  game.show(seen + (STACK_NUM - 1) * PIXELS);
}

extern "C" __global__ void step(const uint64_t* residents, Rules rules, const int* actions, unsigned char* observations,
                                float* rewards, int* lives, bool* terminated, bool* truncated) {
  if (!is_active()) return;  // guard
  Cartridge& game = resident(residents);
  const int choice = actions[env_id()];
  Random random = Random::env();
  game.step(rules, choice >= 0 && choice < MOST_CHOICES ? ACTIONS[choice] : 0, random);
  rewards[env_id()] = game.reward();
  lives[env_id()] = game.lives();
  terminated[env_id()] = game.is_terminated();
  truncated[env_id()] = game.is_truncated();
  show(game, observations);
}

extern "C" __global__ void reset(const uint64_t* residents, Rules rules, unsigned char* observations, int* lives) {
  if (!is_active()) return;  // guard
  Cartridge& game = resident(residents);
  Random random = Random::env();
  game.begin(rules, (const char*)ROM, rules.use_fire_reset && has_fire(), random);
  lives[env_id()] = game.lives();
  memset(observations + (size_t)env_id() * STACK_NUM * PIXELS, 0, STACK_NUM * PIXELS);
  show(game, observations);
}
