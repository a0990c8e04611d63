// MinAtar's Freeway: a chicken crosses eight lanes of cars, from the bottom row to the top.
//
// Arrays: chicken (envs,) its row from the top; rest (envs,) steps until it may move again; cars (envs, 8, 3), lane by
// lane from the top, its column, steps until it moves, and its speed, -5 to 5: it moves a cell in every (|speed| + 1)th
// step, to the right where the speed is positive; last_action (envs, 1); observations (envs, 1, 7, 10, 10), see show().
// Read: actions (envs, 1, 1): 0 nothing, 1 up, 2 down.
#include "minatar.cuh"

constexpr int NUM_CARS = 8, FIRST_LANE = 1, SLOWEST = 5;
constexpr int COLUMN = 4, BOTTOM = SIDE - 1;  // of the chicken
constexpr int REST = 3;                       // steps from one move of the chicken to the next
constexpr int CHICKEN = 0, CAR = 1, TRAILS = 2;  // channels; trails of the fastest cars first

struct Game {
  int *chicken, *rest;
  int3* cars;
};

// A column of the screen, which continues at the other side.
__device__ int around(int x) { return x < 0 ? SIDE - 1 : x == SIDE ? 0 : x; }

// Speeds and directions of all cars, which stay where they are. A draw is of four cars, so that with the one of a sticky
// action a step takes one block of random words.
__device__ void draw_speeds(int3* cars, Random& random) {
  constexpr unsigned speeds = 2u * SLOWEST, speeds_of_four = speeds * speeds * speeds * speeds;
  unsigned drawn = random.below(speeds_of_four);
  const unsigned drawn_next = random.below(speeds_of_four);
#pragma unroll 1  // unrolled, it spills registers
  for (int k = 0; k < NUM_CARS; ++k) {
    if (k == NUM_CARS / 2) drawn = drawn_next;
    const int which = (int)(drawn % speeds), pace = which % SLOWEST + 1;
    drawn /= speeds;
    cars[k].y = pace;
    cars[k].z = which < SLOWEST ? -pace : pace;
  }
}

// Each car has a trail in the cell behind it, in the channel of its pace.
__device__ void show(const Game& game, bool* observations) {
  const Screen screen(observations);
  screen.light(CHICKEN, COLUMN, game.chicken[env_id()]);
  const int3* cars = game.cars + NUM_CARS * env_id();
  for (int k = 0; k < NUM_CARS; ++k) {
    const int3 car = cars[k];
    screen.light(CAR, car.x, FIRST_LANE + k);
    screen.light(TRAILS + abs(car.z) - 1, around(car.x - (car.z > 0 ? 1 : -1)), FIRST_LANE + k);
  }
}

extern "C" __global__ void step(Game game, Sticky sticky, const int* timestep, bool* observations, float* rewards,
                                bool* truncated, int episode_length) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  const int env = env_id(), action = sticky_action(sticky, random);
  int3* cars = game.cars + NUM_CARS * env;
  int chicken = game.chicken[env], rest = game.rest[env];

  if (action != 0 && rest == 0) {
    rest = REST;
    chicken = min(chicken + (action == 2) - (action == 1), BOTTOM);
  }
  const bool is_across = chicken == 0;
  if (is_across) {
    draw_speeds(cars, random);
    chicken = BOTTOM;
  }
  for (int k = 0; k < NUM_CARS; ++k) {  // a car hits the chicken where it stands, and where it comes to
    int3 car = cars[k];
    const bool is_in_lane = chicken == FIRST_LANE + k, is_due = car.y == 0;
    bool is_hit = is_in_lane && car.x == COLUMN;
    if (is_due) car.x = around(car.x + (car.z > 0 ? 1 : -1));
    car.y = is_due ? abs(car.z) : car.y - 1;
    is_hit |= is_in_lane && car.x == COLUMN;
    cars[k] = car;
    if (is_hit) chicken = BOTTOM;
  }

  game.chicken[env] = chicken;
  game.rest[env] = max(rest - 1, 0);
  rewards[agent_index()] = is_across ? 1.0f : 0.0f;
  truncated[env] = timestep[env] >= episode_length;
  show(game, observations);
}

extern "C" __global__ void reset(Game game, bool* observations) {
  if (!is_active()) return;  // guard
  Random random = Random::agent();
  int3* cars = game.cars + NUM_CARS * env_id();
  for (int k = 0; k < NUM_CARS; ++k) cars[k].x = 0;
  draw_speeds(cars, random);
  game.chicken[env_id()] = BOTTOM;
  game.rest[env_id()] = REST;
  show(game, observations);
}
