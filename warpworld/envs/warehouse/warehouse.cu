// A robotic warehouse: robots carry requested shelves to goals, and must put them back before they can take others.
//
// Arrays: ground (cells,), goals, shelf_home; per env agent_at, shelf_at, looks (cells,), shelf_cell and requested
// (shelves,), inactive and deliveries; per agent cell, direction, carrying, has_delivered; see warehouse.py. Loops run
// over robots, so that any number of threads will do; one of them decides who drives, and which shelves are asked for.
#include "traffic.cuh"

enum Choice { NOTHING, FORWARD, TURN_LEFT, TURN_RIGHT, TOGGLE };
enum Reward { INDIVIDUAL, SHARED, TWO_STAGE };

// The direction after a turn, two bits for each: up, down, left, right.
__device__ int turned(int direction, bool to_the_right) { return (to_the_right ? 75 : 30) >> 2 * direction & 3; }

// The cell that a robot wants: the one ahead, if there is one. With a shelf on it a robot cannot go under another,
// except that of a robot, which may drive on.
__device__ int wanted(const Warehouse& warehouse, int agent, int action) {
  const int cell = warehouse.cell[agent], direction = warehouse.direction[agent];
  if (action != FORWARD) return cell;
  const int ahead = cell + STRIDE * ((direction == DOWN) - (direction == UP)) + (direction == RIGHT) - (direction == LEFT);
  if (warehouse.ground[ahead] == OUTSIDE) return cell;
  const int other = warehouse.agent_at[ahead];
  const bool moves_away = other > 0 && warehouse.carrying[other - 1] > 0;
  return warehouse.carrying[agent] > 0 && warehouse.shelf_at[ahead] > 0 && !moves_away ? cell : ahead;
}

// Takes the shelf above, or puts the carried one down where shelves are stored. Returns the reward.
__device__ float toggle(const Warehouse& warehouse, int agent, int reward) {
  const int cell = warehouse.cell[agent];
  if (warehouse.carrying[agent] == 0) {
    warehouse.carrying[agent] = warehouse.shelf_at[cell];
    return 0.0f;
  }
  if (warehouse.ground[cell] == CORRIDOR) return 0.0f;
  const bool is_back = warehouse.has_delivered[agent];
  warehouse.carrying[agent] = 0;
  warehouse.has_delivered[agent] = false;
  return is_back && reward == TWO_STAGE ? 0.5f : 0.0f;
}

// Takes a robot, and what it carries, off a cell; puts them on another.
__device__ void leave(const Warehouse& warehouse, int agent) {
  warehouse.agent_at[warehouse.cell[agent]] = 0;
  if (warehouse.carrying[agent] > 0) warehouse.shelf_at[warehouse.cell[agent]] = 0;
}
__device__ void arrive(const Warehouse& warehouse, int agent, int cell) {
  const int shelf = warehouse.carrying[agent];
  warehouse.cell[agent] = cell;
  warehouse.agent_at[cell] = (unsigned char)(agent + 1);
  if (shelf == 0) return;
  warehouse.shelf_at[cell] = (short)shelf;
  warehouse.shelf_cell[shelf - 1] = (short)cell;
}

// Counts the requested shelves at goals, pays for them, and asks for as many others. Returns how many there are.
__device__ int deliver(const Warehouse& warehouse, int reward, float* rewards) {
  Random random = Random::env();
  int delivered = 0;
  for (int goal = 0; goal < NUM_GOALS; ++goal) {
    const int cell = warehouse.goals[goal], shelf = warehouse.shelf_at[cell];
    if (shelf == 0 || !warehouse.requested[shelf - 1]) continue;
    const int next = request(warehouse, NUM_SHELVES - REQUEST_QUEUE_SIZE, random);
    warehouse.requested[shelf - 1] = false;
    show(warehouse, warehouse.shelf_cell[next]);
    show(warehouse, cell);
    const int carrier = warehouse.agent_at[cell] - 1;
    if (reward == SHARED)
      for (int agent = 0; agent < NUM_AGENTS; ++agent) rewards[agent] += 1.0f;
    else
      rewards[carrier] += reward == TWO_STAGE ? 0.5f : 1.0f;
    if (reward == TWO_STAGE) warehouse.has_delivered[carrier] = true;
    ++delivered;
  }
  return delivered;
}

extern "C" __global__ void step(Warehouse warehouses, const int* actions, float* observations, float* rewards,
                                int* inactive, int* deliveries, const int* timestep, bool* terminated, bool* truncated,
                                int reward_number, bool normalised_coordinates, int max_inactivity_steps,
                                int episode_length) {
  if (!is_active()) return;  // guard
  ENV_SHARED(Traffic, traffics, 1);
  ENV_SHARED(int, from, NUM_AGENTS);
  const Warehouse warehouse = here(warehouses);
  Traffic& traffic = traffics[0];
  const int env = env_id();
  const int* action = actions + (size_t)env * NUM_AGENTS;
  float* reward = rewards + (size_t)env * NUM_AGENTS;

  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    traffic.target[agent] = wanted(warehouse, agent, action[agent]);
  sync_env();  // all robots want a cell before it is decided who drives
  if (lane() == 0) decide(traffic, warehouse.cell, warehouse.agent_at);
  sync_env();  // it is decided who drives before anybody does

  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int choice = action[agent];
    from[agent] = warehouse.cell[agent];
    reward[agent] = choice == TOGGLE ? toggle(warehouse, agent, reward_number) : 0.0f;
    if (choice == TURN_LEFT || choice == TURN_RIGHT)
      warehouse.direction[agent] = turned(warehouse.direction[agent], choice == TURN_RIGHT);
    if (traffic.drives[agent]) leave(warehouse, agent);
  }
  sync_env();  // cells are left before others arrive there
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    if (traffic.drives[agent]) arrive(warehouse, agent, traffic.target[agent]);
  sync_env();  // all have arrived before it is seen what they bring
  if (lane() == 0) {
    const int delivered = deliver(warehouse, reward_number, reward);
    deliveries[env] += delivered;
    inactive[env] = delivered > 0 ? 0 : inactive[env] + 1;
    const bool gives_up = max_inactivity_steps > 0 && inactive[env] >= max_inactivity_steps;
    terminated[env] = gives_up;
    truncated[env] = !gives_up && timestep[env] >= episode_length;
  }
  sync_env();  // shelves are asked for before they are shown
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    show(warehouse, warehouse.cell[agent]);
    if (warehouse.agent_at[from[agent]] == 0) show(warehouse, from[agent]);
  }
  sync_env();  // all is shown before anybody looks
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    observe(warehouse, agent, normalised_coordinates, observations);
}

// Puts robots on random cells of their own, in random directions, and asks for shelves.
__device__ void begin(const Warehouse& warehouse) {
  Random random = Random::env();
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    int cell;
    do {
      const int place = (int)random.below(HEIGHT * WIDTH);
      cell = (place / WIDTH + SENSOR_RANGE) * STRIDE + place % WIDTH + SENSOR_RANGE;
    } while (warehouse.agent_at[cell] > 0);
    warehouse.cell[agent] = cell;
    warehouse.agent_at[cell] = (unsigned char)(agent + 1);
    warehouse.direction[agent] = (int)random.below(4u);
    warehouse.carrying[agent] = 0;
    warehouse.has_delivered[agent] = false;
  }
  for (int shelf = 0; shelf < NUM_SHELVES; ++shelf) {
    warehouse.shelf_cell[shelf] = warehouse.shelf_home[shelf];
    warehouse.shelf_at[warehouse.shelf_home[shelf]] = (short)(shelf + 1);
    warehouse.requested[shelf] = false;
  }
  for (int count = 0; count < REQUEST_QUEUE_SIZE; ++count) request(warehouse, NUM_SHELVES - count, random);
}

extern "C" __global__ void reset(Warehouse warehouses, float* observations, bool normalised_coordinates) {
  if (!is_active()) return;  // guard
  const Warehouse warehouse = here(warehouses);
  for (int cell = lane(); cell < CELLS; cell += num_lanes()) warehouse.agent_at[cell] = warehouse.shelf_at[cell] = 0;
  sync_env();  // the grid is empty before anything is put on it
  if (lane() == 0) begin(warehouse);
  sync_env();  // all is in its place before it is shown
  for (int cell = lane(); cell < CELLS; cell += num_lanes()) show(warehouse, cell);
  sync_env();  // all is shown before anybody looks
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    observe(warehouse, agent, normalised_coordinates, observations);
}
