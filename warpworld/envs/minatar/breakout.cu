// MinAtar's Breakout: a paddle at the bottom keeps a ball in play, which breaks three rows of bricks.
//
// Arrays: paddle (envs,) its column; ball (envs, 4) column, row from the top, and how far it moves along both in a step,
// -1 or 1; trail (envs, 2) where the ball was a step before; bricks (envs,) a bit for each, row by row; struck (envs,)
// whether the ball broke a brick in its last step or is still among bricks since; last_action (envs, 1); observations
// (envs, 1, 4, 10, 10), see show(). Read: actions (envs, 1, 1): 0 nothing, 1 left, 2 right.
#include "minatar.cuh"

constexpr int FIRST_ROW = 1, NUM_BRICKS = 3 * SIDE, LAST = SIDE - 1;
constexpr unsigned ALL_BRICKS = (1u << NUM_BRICKS) - 1u;
constexpr int PADDLE = 0, BALL = 1, TRAIL = 2, BRICK = 3;  // channels

struct Game {
  int* paddle;
  int4* ball;
  int2* trail;
  unsigned* bricks;
  bool* struck;
};

// The bit of the brick in a cell; 0 where no brick can be.
__device__ unsigned brick_at(int x, int y) {
  const int brick = (y - FIRST_ROW) * SIDE + x;
  return brick >= 0 && brick < NUM_BRICKS ? 1u << brick : 0u;
}

__device__ void show(const Game& game, bool* observations) {
  const int env = env_id();
  const Screen screen(observations);
  const unsigned bricks = game.bricks[env];
  for (int k = 0; k < NUM_BRICKS; ++k) screen.light(BRICK, k, FIRST_ROW, bricks >> k & 1u);  // rows follow each other
  screen.light(PADDLE, game.paddle[env], LAST);
  screen.light(BALL, game.ball[env].x, game.ball[env].y);
  screen.light(TRAIL, game.trail[env].x, game.trail[env].y);
}

extern "C" __global__ void step(Game game, Sticky sticky, const int* timestep, bool* observations, float* rewards,
                                bool* terminated, bool* truncated, int episode_length) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  const int env = env_id(), action = sticky_action(sticky, random);
  const int paddle = min(max(game.paddle[env] + (action == 2) - (action == 1), 0), LAST);
  const int4 was = game.ball[env];  // .z and .w are its velocity
  unsigned bricks = game.bricks[env];

  int4 ball = make_int4(was.x + was.z, was.y + was.w, was.z, was.w);
  if (ball.x < 0 || ball.x > LAST) {  // off a side wall
    ball.x = was.x;
    ball.z = -ball.z;
  }
  bool among_bricks = false, is_broken = false, is_lost = false;
  if (ball.y < 0) {  // off the ceiling
    ball.y = 0;
    ball.w = -ball.w;
  } else if (bricks & brick_at(ball.x, ball.y)) {  // a ball that has just broken one flies through the next
    among_bricks = true;
    is_broken = !game.struck[env];
    if (is_broken) {
      bricks &= ~brick_at(ball.x, ball.y);
      ball.y = was.y;
      ball.w = -ball.w;
    }
  } else if (ball.y == LAST) {  // at the paddle's row
    if (bricks == 0u) bricks = ALL_BRICKS;
    const bool is_under = was.x == paddle, is_ahead = ball.x == paddle;
    is_lost = !is_under && !is_ahead;
    if (!is_lost) {
      ball.y = was.y;
      ball.w = -ball.w;
      if (!is_under) ball.z = -ball.z;  // off the paddle's corner, back to where it came from
    }
  }

  game.paddle[env] = paddle;
  game.ball[env] = ball;
  game.trail[env] = make_int2(was.x, was.y);
  game.bricks[env] = bricks;
  game.struck[env] = among_bricks;
  rewards[agent_index()] = is_broken ? 1.0f : 0.0f;
  terminated[env] = is_lost;
  truncated[env] = !is_lost && timestep[env] >= episode_length;
  show(game, observations);
}

// The ball starts below the bricks' left or right end and flies inwards.
extern "C" __global__ void reset(Game game, bool* observations) {
  if (!is_active()) return;  // guard
  const int env = env_id();
  const bool from_right = Random::agent().below(2u) == 1u;
  game.paddle[env] = 4;
  game.ball[env] = make_int4(from_right ? LAST : 0, 3, from_right ? -1 : 1, 1);
  game.trail[env] = make_int2(game.ball[env].x, game.ball[env].y);
  game.bricks[env] = ALL_BRICKS;
  game.struck[env] = false;
  show(game, observations);
}
