// MinAtar's Space Invaders: a cannon at the bottom shoots at aliens, which march, come down and shoot back.
//
// Arrays: cannon (envs,) its column; aliens, bullets and alien_bullets (envs, 10) row by row from the top, of which bit x
// is column x; march (envs, 3) how the aliens move, -1 or 1, steps until they do, and steps from one move to the next
// while there are many; reload (envs, 2) steps until the cannon may shoot, and until an alien does; last_action (envs, 1);
// observations (envs, 1, 6, 10, 10), see show(). Read: actions (envs, 1, 1): 0 nothing, 1 left, 2 right, 3 shoot.
#include "minatar.cuh"

constexpr int LAST = SIDE - 1, WAVE_ROWS = 4;
constexpr unsigned WAVE = 0xFCu, LEFT_EDGE = 1u, RIGHT_EDGE = 1u << LAST;  // a wave's row: columns 2 to 7
constexpr int MARCH_INTERVAL = 12, SHORTEST_MARCH_INTERVAL = 6, CANNON_RELOAD = 5, ALIEN_RELOAD = 10;
constexpr int CANNON = 0, ALIEN = 1, ALIEN_LEFT = 2, ALIEN_RIGHT = 3, BULLET = 4, ALIEN_BULLET = 5;  // channels

struct Game {
  int* cannon;
  unsigned *aliens, *bullets, *alien_bullets;
  int3* march;
  int2* reload;
};

__device__ int how_many(unsigned bits) {
  int count = 0;
  for (; bits; bits &= bits - 1u) ++count;
  return count;
}

__device__ int how_many(const unsigned* rows) {
  int count = 0;
#pragma unroll 1  // unrolled, it spills registers
  for (int y = 0; y < SIDE; ++y) count += how_many(rows[y]);
  return count;
}

__device__ unsigned columns_of(const unsigned* rows) {
  unsigned columns = 0u;
#pragma unroll 1  // unrolled, it spills registers
  for (int y = 0; y < SIDE; ++y) columns |= rows[y];
  return columns;
}

// All rows move up; what enters at the bottom is given.
__device__ void shift_up(unsigned* rows, unsigned entering) {
#pragma unroll 1  // unrolled, it spills registers
  for (int y = 0; y < LAST; ++y) rows[y] = rows[y + 1];
  rows[LAST] = entering;
}

// All rows move down; what enters at the top is given.
__device__ void shift_down(unsigned* rows, unsigned entering) {
#pragma unroll 1  // unrolled, it spills registers
  for (int y = LAST; y > 0; --y) rows[y] = rows[y - 1];
  rows[0] = entering;
}

__device__ void send_wave(unsigned* aliens) {
  for (int y = 0; y < WAVE_ROWS; ++y) aliens[y] = WAVE;
}

// Aliens march to the side, or come down where they stand at the edge; returns whether they have come down too far.
__device__ bool march_on(unsigned* aliens, int& direction) {
  if (!(columns_of(aliens) & (direction < 0 ? LEFT_EDGE : RIGHT_EDGE))) {
    for (int y = 0; y < SIDE; ++y) aliens[y] = direction < 0 ? aliens[y] >> 1 : aliens[y] << 1;
    return false;
  }
  direction = -direction;
  const unsigned lowest = aliens[LAST];
  shift_down(aliens, lowest);  // MinAtar lets them reappear at the top, as the episode ends
  return lowest != 0u;
}

// The lowest alien of the column nearest to the cannon shoots; of two columns equally near the left one counts.
__device__ void shoot_back(const unsigned* aliens, int cannon, unsigned* alien_bullets) {
  const unsigned columns = columns_of(aliens);
  for (int away = 0; away < SIDE; ++away) {
    const unsigned left = cannon >= away ? 1u << (cannon - away) : 0u, right = 1u << (cannon + away);
    const unsigned column = columns & left ? left : columns & right;
    if (column == 0u) continue;
    int y = LAST;
    while (!(aliens[y] & column)) --y;
    alien_bullets[y] |= column;
    return;
  }
}

// Bullets and the aliens that they meet are gone; returns how many.
__device__ int hit(unsigned* aliens, unsigned* bullets) {
  int count = 0;
#pragma unroll 1  // unrolled, it spills registers
  for (int y = 0; y < SIDE; ++y) {
    const unsigned both = aliens[y] & bullets[y];
    aliens[y] ^= both;
    bullets[y] ^= both;
    count += how_many(both);
  }
  return count;
}

__device__ void show(const Game& game, bool* observations) {
  const int env = env_id();
  const Screen screen(observations);
  screen.light(CANNON, game.cannon[env], LAST);
  const int marching = game.march[env].x < 0 ? ALIEN_LEFT : ALIEN_RIGHT;
#pragma unroll 1  // unrolled, it spills registers
  for (int y = 0; y < SIDE; ++y) {
    const int row = SIDE * env + y;
    screen.light_row(ALIEN, y, game.aliens[row]);
    screen.light_row(marching, y, game.aliens[row]);
    screen.light_row(BULLET, y, game.bullets[row]);
    screen.light_row(ALIEN_BULLET, y, game.alien_bullets[row]);
  }
}

extern "C" __global__ void step(Game game, Sticky sticky, const int* timestep, bool* observations, float* rewards,
                                bool* terminated, bool* truncated, int episode_length, bool difficulty_ramping) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  const int env = env_id(), action = sticky_action(sticky, random);
  unsigned* aliens = game.aliens + SIDE * env;
  unsigned *bullets = game.bullets + SIDE * env, *alien_bullets = game.alien_bullets + SIDE * env;
  int3 march = game.march[env];   // direction, steps until the next, interval
  int2 reload = game.reload[env];  // of the cannon, of the aliens

  const int cannon = min(max(game.cannon[env] + (action == 2) - (action == 1), 0), LAST);
  const unsigned here = 1u << cannon;
  const bool shoots = action == 3 && reload.x == 0;
  if (shoots) reload.x = CANNON_RELOAD;
  shift_up(bullets, 0u);
  if (shoots) bullets[LAST - 1] |= here;
  shift_down(alien_bullets, 0u);
  bool is_lost = ((alien_bullets[LAST] | aliens[LAST]) & here) != 0u;

  if (march.y == 0) {
    march.y = min(how_many(aliens), march.z);
    is_lost |= march_on(aliens, march.x);
    is_lost |= (aliens[LAST] & here) != 0u;
  }
  if (reload.y == 0) {
    shoot_back(aliens, cannon, alien_bullets);
    reload.y = ALIEN_RELOAD;
  }
  const int hits = hit(aliens, bullets);
  reload.x = max(reload.x - 1, 0);
  --march.y;
  --reload.y;
  if (columns_of(aliens) == 0u) {
    if (difficulty_ramping) march.z = max(march.z - 1, SHORTEST_MARCH_INTERVAL);
    send_wave(aliens);
  }

  game.cannon[env] = cannon;
  game.march[env] = march;
  game.reload[env] = reload;
  rewards[agent_index()] = (float)hits;
  terminated[env] = is_lost;
  truncated[env] = !is_lost && timestep[env] >= episode_length;
  show(game, observations);
}

extern "C" __global__ void reset(Game game, bool* observations) {
  if (!is_active()) return;  // guard
  const int env = env_id();
  game.cannon[env] = 5;
  for (int row = SIDE * env; row < SIDE * (env + 1); ++row) {
    game.aliens[row] = game.bullets[row] = game.alien_bullets[row] = 0u;
  }
  send_wave(game.aliens + SIDE * env);
  game.march[env] = make_int3(-1, MARCH_INTERVAL, MARCH_INTERVAL);
  game.reload[env] = make_int2(0, ALIEN_RELOAD);
  show(game, observations);
}
