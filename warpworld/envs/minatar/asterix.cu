// MinAtar's Asterix: a player among eight rows, in each of which an enemy or gold may cross the screen.
//
// Arrays: player (envs, 2) its column and row; crossers (envs, 8, 3), row by row from the top, its column, -1 where there
// is none, its motion, -1 or 1, and whether it is gold; spawn (envs, 2) and move (envs, 2) steps until the next one, and
// from each to the next; ramp (envs, 2) steps until the game gets harder, and how often it did; last_action (envs, 1);
// observations (envs, 1, 4, 10, 10), see show(). Read: actions (envs, 1, 1): 0 nothing, 1 left, 2 up, 3 right, 4 down.
#include "minatar.cuh"

constexpr int ROWS = 8, FIRST_ROW = 1, NOWHERE = -1;
constexpr int SPAWN_INTERVAL = 10, MOVE_INTERVAL = 5, RAMP_INTERVAL = 100;
constexpr int PLAYER = 0, ENEMY = 1, TRAIL = 2, GOLD = 3;  // channels

struct Game {
  int2* player;
  int3* crossers;
  int2 *spawn, *move;
  int2* ramp;
};

// An enemy or gold enters in one of the empty rows, if there is one.
__device__ void enter(int3* crossers, Random& random) {
  const bool from_left = random.uniform() < 0.5f, is_gold = random.uniform() < 1.0f / 3.0f;
  int empty = 0;
  for (int row = 0; row < ROWS; ++row) empty += crossers[row].x == NOWHERE;
  if (empty == 0) return;
  int which = (int)random.below((unsigned)empty);
  for (int row = 0; row < ROWS; ++row) {
    if (crossers[row].x != NOWHERE || which-- != 0) continue;
    crossers[row] = make_int3(from_left ? 0 : SIDE - 1, from_left ? 1 : -1, is_gold);
  }
}

__device__ int2 walked(int2 player, int action) {
  player.x = min(max(player.x + (action == 3) - (action == 1), 0), SIDE - 1);
  player.y = min(max(player.y + (action == 4) - (action == 2), FIRST_ROW), ROWS);
  return player;
}

__device__ void advance(int3* crossers) {
  for (int row = 0; row < ROWS; ++row) {
    if (crossers[row].x == NOWHERE) continue;
    crossers[row].x += crossers[row].y;
    if (crossers[row].x == SIDE) crossers[row].x = NOWHERE;  // one that leaves at the left is at -1
  }
}

// The player takes gold in its cell, which is counted; returns whether an enemy is there.
__device__ bool meets(int3& crosser, int2 player, int& gold) {
  if (crosser.x != player.x) return false;
  if (crosser.z) {
    crosser.x = NOWHERE;
    ++gold;
    return false;
  }
  return true;
}

// Every 102 steps entries follow each other faster, and every second time all moves do.
__device__ void get_harder(int2& ramp, int2& spawn, int2& move) {
  if (spawn.y == 1 && move.y == 1) return;
  if (ramp.x-- >= 0) return;
  if (ramp.y % 2 == 1) move.y = max(move.y - 1, 1);
  spawn.y = max(spawn.y - 1, 1);
  ramp = make_int2(RAMP_INTERVAL, ramp.y + 1);
}

__device__ void show(const Game& game, bool* observations) {
  const Screen screen(observations);
  const int2 player = game.player[env_id()];
  screen.light(PLAYER, player.x, player.y);
  for (int row = 0; row < ROWS; ++row) {
    const int3 crosser = game.crossers[ROWS * env_id() + row];
    if (crosser.x == NOWHERE) continue;
    screen.light(crosser.z ? GOLD : ENEMY, crosser.x, FIRST_ROW + row);
    screen.light_if_inside(TRAIL, crosser.x - crosser.y, FIRST_ROW + row);
  }
}

extern "C" __global__ void step(Game game, Sticky sticky, const int* timestep, bool* observations, float* rewards,
                                bool* terminated, bool* truncated, int episode_length, bool difficulty_ramping) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  const int env = env_id(), action = sticky_action(sticky, random);
  int3* crossers = game.crossers + ROWS * env;
  int2 spawn = game.spawn[env], move = game.move[env];

  if (spawn.x == 0) {
    enter(crossers, random);
    spawn.x = spawn.y;
  }
  const int2 player = walked(game.player[env], action);
  int3& beside = crossers[player.y - FIRST_ROW];  // in the player's row
  int gold = 0;
  bool is_caught = meets(beside, player, gold);
  if (move.x == 0) {
    advance(crossers);
    move.x = move.y;
    is_caught |= meets(beside, player, gold);
  }
  --spawn.x;
  --move.x;
  if (difficulty_ramping) get_harder(game.ramp[env], spawn, move);

  game.player[env] = player;
  game.spawn[env] = spawn;
  game.move[env] = move;
  rewards[agent_index()] = (float)gold;
  terminated[env] = is_caught;
  truncated[env] = !is_caught && timestep[env] >= episode_length;
  show(game, observations);
}

extern "C" __global__ void reset(Game game, bool* observations) {
  if (!is_active()) return;  // guard
  const int env = env_id();
  game.player[env] = make_int2(5, 5);
  for (int row = 0; row < ROWS; ++row) game.crossers[ROWS * env + row] = make_int3(NOWHERE, 1, 0);
  game.spawn[env] = make_int2(SPAWN_INTERVAL, SPAWN_INTERVAL);
  game.move[env] = make_int2(MOVE_INTERVAL, MOVE_INTERVAL);
  game.ramp[env] = make_int2(RAMP_INTERVAL, 0);
  show(game, observations);
}
