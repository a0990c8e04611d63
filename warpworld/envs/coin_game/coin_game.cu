// Coin game: red (agent 0) and blue (agent 1) move on a grid whose edges join. A coin, red or blue, lies on a cell; an
// agent on it takes it for 1, and where its colour is the other's, the other loses `penalty`. Red comes first.
//
// Arrays: x, y (envs, 2) of agents; coin (envs, 2) x and y, and is_red (envs,) of it; observations (envs, 2, 4, side, side)
// flags of red, blue, a red coin and a blue coin; taken, own_taken (envs, 2) coins in this episode, and of those the ones
// of the own colour. Each agent writes its part; red writes what is of the env. Read: actions (envs, 2, 1): 0 x+1, 1 x-1,
// 2 y+1, 3 y-1; timestep (envs,).
#include <warpworld.cuh>

constexpr int RED = 0, BLUE = 1, NOBODY = -1;

struct Grid {
  int *x, *y;
  int2* coin;
  bool* is_red;
  float *taken, *own_taken;
  bool* observations;
  int side;
};

__device__ bool is_at(int2 place, int2 other) { return place.x == other.x && place.y == other.y; }

__device__ int2 place_of(const Grid& grid, int agent) {
  const int i = 2 * env_id() + agent;
  return make_int2(grid.x[i], grid.y[i]);
}

__device__ int number_of(int2 place, int side) { return place.y * side + place.x; }

// A cell on which no agent is, each as likely as any other.
__device__ int2 free_cell(Random& random, int2 red, int2 blue, int side) {
  const int one = number_of(red, side), other = number_of(blue, side), first = min(one, other), last = max(one, other);
  int cell = (int)random.below((uint32_t)(side * side - (first == last ? 1 : 2)));
  cell += cell >= first;
  cell += first != last && cell >= last;
  return make_int2(cell % side, cell / side);
}

__device__ void show(const Grid& grid, int2 red, int2 blue, int2 coin, bool is_red) {
  const int cells = grid.side * grid.side;
  bool* planes = grid.observations + (size_t)agent_index() * 4 * cells;
  for (int k = 0; k < 4 * cells; ++k) planes[k] = false;
  planes[number_of(red, grid.side)] = true;
  planes[cells + number_of(blue, grid.side)] = true;
  planes[(is_red ? 2 : 3) * cells + number_of(coin, grid.side)] = true;
}

extern "C" __global__ void step(Grid grid, const int* actions, const int* timestep, float* rewards, bool* truncated,
                                float penalty, int episode_length) {
  if (!is_active()) return;  // guard
  const int env = env_id(), i = agent_index(), action = actions[i], side = grid.side;
  int2 coin = grid.coin[env];
  bool is_red = grid.is_red[env];
  grid.x[i] = (grid.x[i] + (action == 0) - (action == 1) + side) % side;
  grid.y[i] = (grid.y[i] + (action == 2) - (action == 3) + side) % side;
  sync_env();  // both have moved before either looks, and have read the coin before red writes another one

  const int2 red = place_of(grid, RED), blue = place_of(grid, BLUE);
  const int taker = is_at(red, coin) ? RED : is_at(blue, coin) ? BLUE : NOBODY, owner = is_red ? RED : BLUE;
  const bool takes = taker == agent_id(), loses = taker != NOBODY && !takes && owner == agent_id();
  rewards[i] = takes ? 1.0f : loses ? -penalty : 0.0f;
  grid.taken[i] += takes ? 1.0f : 0.0f;
  grid.own_taken[i] += takes && owner == agent_id() ? 1.0f : 0.0f;
  if (taker != NOBODY) {
    Random random = Random::env();  // both draw the same cell
    coin = free_cell(random, red, blue, side);
    is_red = !is_red;
  }
  show(grid, red, blue, coin, is_red);
  if (agent_id() != RED) return;
  grid.coin[env] = coin;
  grid.is_red[env] = is_red;
  truncated[env] = timestep[env] >= episode_length;
}

extern "C" __global__ void reset(Grid grid) {
  if (!is_active()) return;  // guard
  const int env = env_id(), i = agent_index(), side = grid.side;
  Random random = Random::env();  // both draw the same
  const int cell = (int)random.below((uint32_t)(side * side));
  const int2 red = make_int2(cell % side, cell / side), blue = free_cell(random, red, red, side);
  const int2 coin = free_cell(random, red, blue, side);
  const bool is_red = random.below(2) == 1;
  const int2 own = agent_id() == RED ? red : blue;
  grid.x[i] = own.x, grid.y[i] = own.y;
  grid.taken[i] = grid.own_taken[i] = 0.0f;
  show(grid, red, blue, coin, is_red);
  if (agent_id() != RED) return;
  grid.coin[env] = coin;
  grid.is_red[env] = is_red;
}
