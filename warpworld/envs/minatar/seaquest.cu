// MinAtar's Seaquest: a submarine shoots enemies, picks up divers and brings them to the surface for air.
//
// Arrays: submarine (envs, 3) its column, row, and where it looks, -1 or 1; bullets (envs, 2, 3) column, -1 where there is
// none, row, motion; enemies (envs, 30, 4), in the order in which they came, column, row, motion, steps until it moves;
// enemy_reload (envs, 30) steps until that enemy shoots, -1 of a fish, which does not; num_enemies (envs,);
// enemy_bullets (envs, 2, 8) that fly left, right, row by row, of which bit x is column x; divers (envs, 2, 4) as enemies;
// num_divers (envs,); supplies (envs, 3) oxygen, divers on board, steps until it may shoot; surfaced (envs,) whether it
// has been at the surface since its last dive; spawn (envs, 3) steps until an enemy comes, until a diver comes, and
// from one enemy to the next; pace (envs, 2) steps that enemies rest between moves, and how often the game got harder;
// last_action (envs, 1); observations (envs, 1, 10, 10, 10), see show().
// Read: actions (envs, 1, 1): 0 nothing, 1 left, 2 up, 3 right, 4 down, 5 shoot.
#include "sea.cuh"

constexpr int FRONT = 0, BACK = 1, BULLET = 2, TRAIL = 3, ENEMY_BULLET = 4, ENEMY_FISH = 5;  // channels
constexpr int ENEMY_SUBMARINE = 6, OXYGEN_GAUGE = 7, DIVER_GAUGE = 8, DIVER = 9;

// An enemy comes, unless one in its row comes the other way.
__device__ void enemy_enters(const Game& game, Random& random) {
  const bool from_left = random.uniform() < 0.5f, shoots = random.uniform() < 1.0f / 3.0f;
  const int4 enemy = entering(from_left, FIRST_ROW + (int)random.below(ROWS), game.pace->x);
  const int count = *game.num_enemies;
  for (int k = 0; k < count; ++k) {
    if (game.enemies[k].y == enemy.y && game.enemies[k].z != enemy.z) return;
  }
  game.enemies[count] = enemy;
  game.enemy_reload[count] = shoots ? ENEMY_RELOAD : FISH;
  *game.num_enemies = count + 1;
}

__device__ void diver_enters(const Game& game, Random& random) {
  const bool from_left = random.uniform() < 0.5f;
  game.divers[(*game.num_divers)++] = entering(from_left, FIRST_ROW + (int)random.below(ROWS), REST);
}

// Enemies and divers come in their turn.
__device__ void enter(const Game& game, Random& random) {
  int3 spawn = *game.spawn;
  if (spawn.x == 0) {
    enemy_enters(game, random);
    spawn.x = spawn.z;
  }
  if (spawn.y == 0) {
    diver_enters(game, random);
    spawn.y = DIVER_INTERVAL;
  }
  *game.spawn = make_int3(spawn.x - 1, spawn.y - 1, spawn.z);
}

// Air for a diver, who leaves; a full board pays what is left of the oxygen, up to 10. Then enemies come faster.
__device__ int surface(const Game& game, bool difficulty_ramping) {
  int3& supplies = *game.supplies;
  const bool is_full = supplies.y == FULL_BOARD;
  const int pay = is_full ? supplies.x * 10 / FULL_OXYGEN : 0;
  supplies.x = FULL_OXYGEN;
  supplies.y = is_full ? -1 : supplies.y - 1;  // as in MinAtar, which lets it owe divers
  int2& pace = *game.pace;
  int& interval = game.spawn->z;
  if (difficulty_ramping && (interval > 1 || pace.x > SHORTEST_REST)) {
    if (pace.y % 2 == 1) pace.x = max(pace.x - 1, SHORTEST_REST);
    interval = max(interval - 1, 1);
    ++pace.y;
  }
  return pay;
}

// Uses oxygen, or surfaces, which pays; who comes up without a diver, or has run out of oxygen, has lost.
__device__ int breathe(const Game& game, int3 submarine, bool difficulty_ramping, bool& is_lost) {
  is_lost |= game.supplies->x <= 0;
  if (submarine.y > 0) {
    --game.supplies->x;
    *game.surfaced = false;
    return 0;
  }
  if (*game.surfaced) return 0;
  if (game.supplies->y == 0) {
    is_lost = true;
    return 0;
  }
  *game.surfaced = true;
  return surface(game, difficulty_ramping);
}

__device__ void show_swimmer(const Screen& screen, int channel, int4 swimmer) {
  screen.light(channel, swimmer.x, swimmer.y);
  screen.light_if_inside(TRAIL, swimmer.x - swimmer.z, swimmer.y);
}

__device__ void show(const Game& game, bool* observations) {
  const Screen screen(observations);
  const int3 submarine = *game.submarine, supplies = *game.supplies;
  screen.light(FRONT, submarine.x, submarine.y);
  screen.light(BACK, submarine.x - submarine.z, submarine.y);
  for (int x = 0; x < max(supplies.x, 0) * SIDE / FULL_OXYGEN; ++x) screen.light(OXYGEN_GAUGE, x, SIDE - 1);
  for (int x = SIDE - 1 - supplies.y; x < SIDE - 1; ++x) screen.light(DIVER_GAUGE, x, SIDE - 1);
  for (int k = 0; k < MAX_BULLETS; ++k) screen.light_if_inside(BULLET, game.bullets[k].x, game.bullets[k].y);
  for (int row = 0; row < ROWS; ++row) {
    const unsigned bullets = game.enemy_bullets[row] | game.enemy_bullets[ROWS + row];
    if (bullets) screen.light_row(ENEMY_BULLET, FIRST_ROW + row, bullets);
  }
  for (int k = 0; k < *game.num_enemies; ++k) {
    show_swimmer(screen, game.enemy_reload[k] == FISH ? ENEMY_FISH : ENEMY_SUBMARINE, game.enemies[k]);
  }
  for (int k = 0; k < *game.num_divers; ++k) show_swimmer(screen, DIVER, game.divers[k]);
}

extern "C" __global__ void step(Game all, Sticky sticky, const int* timestep, bool* observations, float* rewards,
                                bool* terminated, bool* truncated, int episode_length, bool difficulty_ramping) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  const int env = env_id(), action = sticky_action(sticky, random);
  const Game game = of_this_env(all);

  enter(game, random);
  if (action == 5 && game.supplies->z == 0) shoot(game, *game.submarine);
  const int3 submarine = *game.submarine = moved(*game.submarine, action);
  Encounters met = {bullets_fly(game), false};
  divers_swim(game, submarine);
#pragma unroll 1  // two copies of how enemies swim spill registers
  for (int are_fish = 0; are_fish < 2; ++are_fish) {  // submarines, their bullets, fish
    if (are_fish) met.is_lost |= enemy_bullets_fly(game, submarine);
    enemies_swim(game, submarine, are_fish, met);
  }
  game.supplies->z = max(game.supplies->z - 1, 0);
  const int pay = breathe(game, submarine, difficulty_ramping, met.is_lost);

  rewards[agent_index()] = (float)(met.hits + pay);
  terminated[env] = met.is_lost;
  truncated[env] = !met.is_lost && timestep[env] >= episode_length;
  show(game, observations);
}

extern "C" __global__ void reset(Game all, bool* observations) {
  if (!is_active()) return;  // guard
  const Game game = of_this_env(all);
  *game.submarine = make_int3(5, 0, -1);
  for (int k = 0; k < MAX_BULLETS; ++k) game.bullets[k] = make_int3(NOWHERE, 0, 1);
  for (int k = 0; k < 2 * ROWS; ++k) game.enemy_bullets[k] = 0u;
#pragma unroll 1  // as in step()
  for (int k = 0; k < MAX_ENEMIES; ++k) {
    game.enemies[k] = make_int4(0, 0, 0, 0);
    game.enemy_reload[k] = 0;
  }
  for (int k = 0; k < MAX_DIVERS; ++k) game.divers[k] = make_int4(0, 0, 0, 0);
  *game.num_enemies = *game.num_divers = 0;
  *game.supplies = make_int3(FULL_OXYGEN, 0, 0);
  *game.surfaced = true;
  *game.spawn = make_int3(SPAWN_INTERVAL, DIVER_INTERVAL, SPAWN_INTERVAL);
  *game.pace = make_int2(REST, 0);
  show(game, observations);
}
