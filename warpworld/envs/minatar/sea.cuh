// What swims and flies in Seaquest: the submarine and its bullets, enemies and theirs, divers.
#pragma once

#include "minatar.cuh"

constexpr int MAX_ENEMIES = 30;  // one comes in a step at most, and the fastest crosses the screen in 29
constexpr int MAX_BULLETS = 2, MAX_DIVERS = 2, FIRST_ROW = 1, ROWS = 8, NOWHERE = -1, FISH = -1;
constexpr int FULL_OXYGEN = 200, FULL_BOARD = 6, RELOAD = 5, ENEMY_RELOAD = 10;
constexpr int SPAWN_INTERVAL = 20, DIVER_INTERVAL = 30, REST = 5, SHORTEST_REST = 2;
constexpr unsigned ALL_COLUMNS = (1u << SIDE) - 1u;

struct Game {
  int3 *submarine, *bullets;
  int4* enemies;
  int *enemy_reload, *num_enemies;
  unsigned* enemy_bullets;
  int4* divers;
  int* num_divers;
  int3* supplies;
  bool* surfaced;
  int3* spawn;
  int2* pace;
};

// The stretches of all arrays that belong to this env.
__device__ Game of_this_env(Game game) {
  const int env = env_id();
  game.submarine += env;
  game.bullets += MAX_BULLETS * env;
  game.enemies += MAX_ENEMIES * env;
  game.enemy_reload += MAX_ENEMIES * env;
  game.num_enemies += env;
  game.enemy_bullets += 2 * ROWS * env;
  game.divers += MAX_DIVERS * env;
  game.num_divers += env;
  game.supplies += env;
  game.surfaced += env;
  game.spawn += env;
  game.pace += env;
  return game;
}

__device__ bool is_inside(int x) { return x >= 0 && x < SIDE; }
__device__ bool is_at(int4 swimmer, int3 submarine) { return swimmer.x == submarine.x && swimmer.y == submarine.y; }

__device__ int4 entering(bool from_left, int y, int rest) {
  return make_int4(from_left ? 0 : SIDE - 1, y, from_left ? 1 : -1, rest);
}

__device__ void shoot(const Game& game, int3 submarine) {
  int k = 0;
  while (k < MAX_BULLETS - 1 && game.bullets[k].x != NOWHERE) ++k;  // a bullet flies for nine steps, and two lie five steps apart
  game.bullets[k] = submarine;
  game.supplies->z = RELOAD;
}

__device__ int3 moved(int3 submarine, int action) {
  const int dx = (action == 3) - (action == 1), dy = (action == 4) - (action == 2);
  submarine.x = min(max(submarine.x + dx, 0), SIDE - 1);
  submarine.y = min(max(submarine.y + dy, 0), ROWS);
  if (dx != 0) submarine.z = dx;
  return submarine;
}

__device__ void remove_enemy(const Game& game, int which) {
  const int count = --*game.num_enemies;
  for (int k = which; k < count; ++k) {
    game.enemies[k] = game.enemies[k + 1];
    game.enemy_reload[k] = game.enemy_reload[k + 1];
  }
}

// The enemy that a bullet in a cell hits: the first fish, or else the first submarine; -1 where there is none.
__device__ int struck_by(const Game& game, int3 bullet) {
  int found = -1;
  for (int k = *game.num_enemies - 1; k >= 0; --k) {
    if (game.enemies[k].x != bullet.x || game.enemies[k].y != bullet.y) continue;
    if (game.enemy_reload[k] == FISH || found < 0 || game.enemy_reload[found] != FISH) found = k;
  }
  return found;
}

// The submarine's bullets fly on; returns how many enemies they hit.
__device__ int bullets_fly(const Game& game) {
  int hits = 0;
  for (int k = 0; k < MAX_BULLETS; ++k) {
    int3 bullet = game.bullets[k];
    if (bullet.x == NOWHERE) continue;
    bullet.x += bullet.z;
    const int struck = is_inside(bullet.x) ? struck_by(game, bullet) : -1;
    if (struck >= 0) remove_enemy(game, struck);
    hits += struck >= 0;
    if (struck >= 0 || !is_inside(bullet.x)) bullet.x = NOWHERE;
    game.bullets[k] = bullet;
  }
  return hits;
}

// The bullet in the cell that an enemy came to, if there is one, is used up; returns whether there is.
__device__ bool runs_into_bullet(const Game& game, int4 enemy) {
  for (int k = 0; k < MAX_BULLETS; ++k) {
    if (game.bullets[k].x != enemy.x || game.bullets[k].y != enemy.y) continue;
    game.bullets[k].x = NOWHERE;
    return true;
  }
  return false;
}

// Divers swim on, the newest first, and come on board where there is room.
__device__ void divers_swim(const Game& game, int3 submarine) {
  for (int k = *game.num_divers - 1; k >= 0; --k) {
    int4 diver = game.divers[k];
    const bool has_room = game.supplies->y < FULL_BOARD;
    bool is_taken = has_room && is_at(diver, submarine);
    if (!is_taken && diver.w-- == 0) {
      diver.w = REST;
      diver.x += diver.z;
      is_taken = has_room && is_at(diver, submarine);
    }
    game.divers[k] = diver;
    if (is_taken) ++game.supplies->y;
    if (!is_taken && is_inside(diver.x)) continue;
    if (k == 0 && *game.num_divers == 2) game.divers[0] = game.divers[1];
    --*game.num_divers;
  }
}

struct Encounters {
  int hits;
  bool is_lost;
};

// An enemy shoots from where it came to, even where a bullet has just hit it.
__device__ void shoots_back(const Game& game, int which, int4 enemy) {
  int& reload = game.enemy_reload[which];
  if (reload-- > 0) return;
  reload = ENEMY_RELOAD;
  const int row = (enemy.z > 0 ? ROWS : 0) + enemy.y - FIRST_ROW;
  if (is_inside(enemy.x)) game.enemy_bullets[row] |= 1u << enemy.x;
}

// Fish or submarines swim on, the newest first.
__device__ void enemies_swim(const Game& game, int3 submarine, bool are_fish, Encounters& met) {
  for (int k = *game.num_enemies - 1; k >= 0; --k) {
    if ((game.enemy_reload[k] == FISH) != are_fish) continue;
    int4 enemy = game.enemies[k];
    met.is_lost |= is_at(enemy, submarine);
    bool is_hit = false;
    if (enemy.w-- == 0) {
      enemy.w = game.pace->x;
      enemy.x += enemy.z;
      const bool meets = is_at(enemy, submarine);
      is_hit = is_inside(enemy.x) && !meets && runs_into_bullet(game, enemy);
      met.is_lost |= meets;
      met.hits += is_hit;
    }
    game.enemies[k] = enemy;
    if (!are_fish) shoots_back(game, k, enemy);
    if (is_hit || !is_inside(enemy.x)) remove_enemy(game, k);
  }
}

// Enemies' bullets fly on; returns whether one hits the submarine before or after it has moved.
__device__ bool enemy_bullets_fly(const Game& game, int3 submarine) {
  unsigned *left = game.enemy_bullets, *right = left + ROWS;
  const int beside = submarine.y - FIRST_ROW;  // -1 at the surface
  unsigned passed = beside < 0 ? 0u : left[beside] | right[beside];
  for (int row = 0; row < ROWS; ++row) {
    left[row] >>= 1;
    right[row] = right[row] << 1 & ALL_COLUMNS;
  }
  if (beside >= 0) passed |= left[beside] | right[beside];
  return passed >> submarine.x & 1u;
}
