// What games of MinAtar share: sticky actions, and a screen of 10 x 10 cells.
#pragma once

#include <clearing.cuh>
#include <warpworld.cuh>

constexpr int SIDE = 10;

// What kernels take by value to let actions stick: last_action (envs, 1) is kept from one episode to the next.
struct Sticky {
  const int* actions;
  int* last_action;
  float sticky_action_prob;
};

// The action that counts: the agent's, or by chance the one that counted in the step before. Takes one draw.
WW_FUNCTION int sticky_action(const Sticky& sticky, Random& random) {
  const int i = agent_index();
  const int action = random.uniform() < sticky.sticky_action_prob ? sticky.last_action[i] : sticky.actions[i];
  sticky.last_action[i] = action;
  return action;
}

// What the agent of this env sees, (channels, 10, 10): channel by channel, and row by row from the top.
class Screen {
 public:
  // A dark one.
  explicit WW_METHOD Screen(bool* observations) : cells_(observations + (size_t)agent_index() * OBSERVATION_SIZE) {
    clear_bytes<OBSERVATION_SIZE>(cells_);
  }
  WW_METHOD void light(int channel, int x, int y, bool is_lit = true) const {
    cells_[(channel * SIDE + y) * SIDE + x] = is_lit;
  }
  // A cell whose column may be off the screen.
  WW_METHOD void light_if_inside(int channel, int x, int y) const {
    if (x >= 0 && x < SIDE) light(channel, x, y);
  }
  // A row, of which bit x is column x.
  WW_METHOD void light_row(int channel, int y, unsigned bits) const {
    for (int x = 0; x < SIDE; ++x) light(channel, x, y, bits >> x & 1u);
  }

 private:
  bool* cells_;
};
