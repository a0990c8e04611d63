// What the games use of the Arcade Learning Environment, whose library is part of the package ale-py 0.12.
//
// The package brings no headers. These declarations have the names that the library exports, and the sizes that it counts on:
// objects of ALEInterface live in more room than they take, those of ALEState are laid out as the library's are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ale {

enum Action : int { PLAYER_A_NOOP = 0, PLAYER_A_FIRE = 1 };

class Logger {
 public:
  enum mode { Info, Warning, Error };
  static void setMode(mode lowest);
};

class ALEState {
 public:
  ALEState(const std::string& serialized);
  std::string serialize();

 private:
  int paddles_and_frames[6];
  std::string saved;
  unsigned mode, difficulty;
};

class ALEInterface {
 public:
  ALEInterface();
  ~ALEInterface();
  void setInt(const std::string& name, int value);
  void setFloat(const std::string& name, float value);
  void loadROM(std::filesystem::path path);
  void reset_game();
  int act(Action action, float paddle_strength);
  bool game_over(bool or_truncated) const;
  int lives();
  void getScreenGrayscale(std::vector<unsigned char>& pixels) const;
  ALEState cloneSystemState();
  void restoreSystemState(const ALEState& state);

 private:
  alignas(16) unsigned char room[1024];
};

}  // namespace ale
