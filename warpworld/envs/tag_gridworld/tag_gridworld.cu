// Tag on a grid: taggers chase one runner, the last agent, over the cells 0 .. grid_length of two axes.
//
// Arrays: loc_x, loc_y (envs, agents) the cell an agent is on; rewards (envs, agents); observations (envs, agents,
// OBSERVATION_SIZE), see observe(); terminated and truncated (envs,). Read: actions (envs, agents, 1): 0 stay, 1 x+1,
// 2 x-1, 3 y+1, 4 y-1; timestep (envs,); with a fixed start starting_location_x and starting_location_y (agents,).
//
// The lanes of an env share its agents: each lane takes every num_lanes()-th, and moves and rewards the same ones. So the
// cost of a step grows with the number of agents; with full observations it grows with its square, as these do.
#include <script.cuh>
#include <warpworld.cuh>

constexpr int RUNNER = RUNNER_FIRST;
constexpr int ROW_SIZE = USE_FULL_OBSERVATION ? 4 * NUM_AGENTS : 1;  // of what all agents see alike

// What the lanes of an env share.
struct Board {
  float row[ROW_SIZE];         // what all agents see alike of the full observation, and zeros
  unsigned long long nearest;  // the tagger nearest to the runner: squared distance and index in one word
  int cells[NUM_AGENTS];       // of each agent, x and y in one word
};

__device__ int x_of(int cell) { return cell & 0xFFFF; }
__device__ int y_of(int cell) { return cell >> 16; }

// Puts an agent on a cell and shows it to the others.
__device__ void move_to(int agent, int x, int y, int* loc_x, int* loc_y, Board& board, float scale) {
  const int i = env_id() * NUM_AGENTS + agent;
  loc_x[i] = x;
  loc_y[i] = y;
  board.cells[agent] = y << 16 | x;
  if (USE_FULL_OBSERVATION) {
    board.row[agent] = (float)x * scale;
    board.row[NUM_AGENTS + agent] = (float)y * scale;
    board.row[2 * NUM_AGENTS + agent] = agent == RUNNER ? 1.0f : 0.0f;
    board.row[3 * NUM_AGENTS + agent] = 0.0f;
  }
}

// Finds the nearest tagger, of several the one with the lowest index. A barrier must follow.
__device__ void find_nearest(Board& board) {
  const int runner_x = x_of(board.cells[RUNNER]), runner_y = y_of(board.cells[RUNNER]);
  unsigned long long nearest = ~0ull;
  for (int t = lane(); t < TAGGER_COUNT; t += num_lanes()) {
    const int dx = x_of(board.cells[t]) - runner_x, dy = y_of(board.cells[t]) - runner_y;
    const unsigned long long found = (unsigned long long)(dx * dx + dy * dy) << 32 | (unsigned)t;
    nearest = found < nearest ? found : nearest;
  }
  atomicMin(&board.nearest, nearest);
}

__device__ int nearest_tagger(const Board& board) { return (int)(board.nearest & 0xFFFFFFFFull); }
__device__ bool is_tagged(const Board& board) { return board.nearest >> 32 == 0; }

// Neighbouring lanes write neighbouring entries; one lane alone copies all of them at once, which is faster than a loop.
__device__ void copy_row(const float* row, float* seen) {
  if (num_lanes() == 1)
    memcpy(seen, row, ROW_SIZE * sizeof(float));
  else
    for (int k = lane(); k < ROW_SIZE; k += num_lanes()) seen[k] = row[k];
}

// Writes what all agents see, coordinates and time as parts of their largest value. Full: all x, all y, all types, a one
// for the viewer among NUM_AGENTS zeros, time. Else: the viewer's cell; the runner's, or for the runner the nearest
// tagger's; the viewer's type; time.
__device__ void observe(const Board& board, float scale, float time, float* observations) {
  float* all_seen = observations + (size_t)env_id() * NUM_AGENTS * OBSERVATION_SIZE;
  if (USE_FULL_OBSERVATION) {
    for (int agent = 0; agent < NUM_AGENTS; ++agent) {
      float* seen = all_seen + agent * OBSERVATION_SIZE;
      const int own = 3 * NUM_AGENTS + agent;
      copy_row(board.row, seen);
      if (own % num_lanes() == lane()) seen[own] = 1.0f;  // by the lane that has written it before
      if (lane() == 0) seen[OBSERVATION_SIZE - 1] = time;
    }
  } else {
    for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
      float* seen = all_seen + agent * OBSERVATION_SIZE;
      const int cell = board.cells[agent], other = board.cells[agent == RUNNER ? nearest_tagger(board) : RUNNER];
      seen[0] = (float)x_of(cell) * scale;
      seen[1] = (float)y_of(cell) * scale;
      seen[2] = (float)x_of(other) * scale;
      seen[3] = (float)y_of(other) * scale;
      seen[4] = agent == RUNNER ? 1.0f : 0.0f;
      seen[5] = time;
    }
  }
}

extern "C" __global__ void step(int* loc_x, int* loc_y, const int* actions, const int* timestep, float* observations,
                                float* rewards, bool* terminated, bool* truncated, int grid_length, int episode_length,
                                float wall_hit_penalty, float tag_reward_for_tagger, float tag_penalty_for_runner,
                                float step_cost_for_tagger) {
  if (!is_active()) return;  // guard
  ENV_SHARED(Board, board, 1);
  const int env = env_id(), now = timestep[env];
  const float scale = 1.0f / (float)grid_length, time = (float)now * (1.0f / (float)episode_length);
  if (lane() == 0) board[0].nearest = ~0ull;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int i = env * NUM_AGENTS + agent, action = actions[i];
    const int to_x = loc_x[i] + (action == 1) - (action == 2), to_y = loc_y[i] + (action == 3) - (action == 4);
    const int x = min(max(to_x, 0), grid_length), y = min(max(to_y, 0), grid_length);
    move_to(agent, x, y, loc_x, loc_y, board[0], scale);
    rewards[i] = wall_hit_penalty * (float)((x != to_x) + (y != to_y));  // taken from the reward below
  }
  sync_env();  // every agent has moved before the nearest tagger is looked for
  find_nearest(board[0]);
  sync_env();  // every tagger has been looked at before the nearest one counts

  const bool tagged = is_tagged(board[0]);
  const float of_tagger = tagged ? tag_reward_for_tagger : -step_cost_for_tagger;
  const float of_runner = tagged ? -tag_penalty_for_runner : step_cost_for_tagger;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    float& reward = rewards[env * NUM_AGENTS + agent];
    reward = (agent == RUNNER ? of_runner : of_tagger) - reward;
  }
  observe(board[0], scale, time, observations);
  if (lane() == 0) {
    terminated[env] = tagged;
    truncated[env] = !tagged && now >= episode_length;
  }
}

// Shows agents the cells on which they start.
__device__ void observe_first(Board& board, float scale, float* observations) {
  sync_env();  // every agent is on its cell before the nearest tagger is looked for
  find_nearest(board);
  sync_env();  // every tagger has been looked at before the nearest one is seen
  observe(board, scale, 0.0f, observations);
}

// Starts on random cells: the runner on any of them, each tagger on any but the runner's.
extern "C" __global__ void reset(int* loc_x, int* loc_y, float* observations, int grid_length) {
  if (!is_active()) return;  // guard
  ENV_SHARED(Board, board, 1);
  const float scale = 1.0f / (float)grid_length;
  const unsigned side = (unsigned)grid_length + 1u, num_cells = side * side;
  const unsigned runners = Random::env().below(num_cells);  // all lanes draw the same
  if (lane() == 0) board[0].nearest = ~0ull;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    unsigned place = Random::of(agent).below(num_cells - 1u);
    if (place >= runners) ++place;  // passes the runner's cell over
    if (agent == RUNNER) place = runners;
    move_to(agent, (int)(place % side), (int)(place / side), loc_x, loc_y, board[0], scale);
  }
  observe_first(board[0], scale, observations);
}

// Starts on given cells, the same for every env and episode.
extern "C" __global__ void reset_fixed(int* loc_x, int* loc_y, const int* starting_location_x,
                                       const int* starting_location_y, float* observations, int grid_length) {
  if (!is_active()) return;  // guard
  ENV_SHARED(Board, board, 1);
  const float scale = 1.0f / (float)grid_length;
  if (lane() == 0) board[0].nearest = ~0ull;
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    move_to(agent, starting_location_x[agent], starting_location_y[agent], loc_x, loc_y, board[0], scale);
  observe_first(board[0], scale, observations);
}

// ---- the script ------------------------------------------------------------------------------------------------------
constexpr int MOVES = 5;
constexpr float SHARPNESS = 20.0f;  // of logits, per step: a worse move is taken once in e^20 draws

// Steps from a cell to the runner, or for the runner to the nearest tagger.
__device__ int steps_to_others(int agent, int x, int y, const int* loc_x, const int* loc_y) {
  const int first = agent == RUNNER ? 0 : RUNNER, end = agent == RUNNER ? RUNNER : NUM_AGENTS;
  int least = INT32_MAX;
  for (int other = env_id() * NUM_AGENTS + first; other < env_id() * NUM_AGENTS + end; ++other)
    least = min(least, abs(loc_x[other] - x) + abs(loc_y[other] - y));
  return least;
}

// Taggers step towards the runner, the runner away from the nearest tagger; between equal moves chance decides.
extern "C" __global__ void greedy(Played played, const int* loc_x, const int* loc_y, int grid_length) {
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    if (!plays(played, agent)) continue;
    const int i = env_id() * NUM_AGENTS + agent, x = loc_x[i], y = loc_y[i];
    const int to_x[MOVES] = {x, min(x + 1, grid_length), max(x - 1, 0), x, x};
    const int to_y[MOVES] = {y, y, y, min(y + 1, grid_length), max(y - 1, 0)};
    float* logits = outputs_of(played, agent);
    for (int move = 0; move < MOVES; ++move) {
      const float steps = (float)steps_to_others(agent, to_x[move], to_y[move], loc_x, loc_y);
      logits[move] = SHARPNESS * (agent == RUNNER ? steps : -steps);
    }
  }
}
