// Tag on a grid: taggers chase one runner, the last agent, over the cells 0 .. grid_length of two axes.
//
// Arrays, of which each agent writes its own entries: loc_x, loc_y (envs, agents) the cell it is on; rewards (envs,
// agents); observations (envs, agents, OBSERVATION_SIZE), see observe(). The runner writes terminated and truncated
// (envs,). Read: actions (envs, agents, 1): 0 stay, 1 x+1, 2 x-1, 3 y+1, 4 y-1; timestep (envs,); with a fixed start
// starting_location_x and starting_location_y (agents,).
#include <warpworld.cuh>

constexpr int RUNNER = RUNNER_FIRST;
constexpr int ROW_SIZE = USE_FULL_OBSERVATION ? 4 * NUM_AGENTS : 1;  // of what all agents see alike

// A cell in one word: agents are on the same one where their words are equal.
__device__ int cell_at(int x, int y) { return y << 16 | x; }
__device__ int x_of(int cell) { return cell & 0xFFFF; }
__device__ int y_of(int cell) { return cell >> 16; }

// The tagger nearest to the runner, by squared distance; of several the one with the lowest index.
__device__ int nearest_tagger(const int* cells) {
  const int runner_x = x_of(cells[RUNNER]), runner_y = y_of(cells[RUNNER]);
  int nearest = 0, least = 0x7FFFFFFF;
  for (int t = 0; t < TAGGER_COUNT; ++t) {
    const int dx = x_of(cells[t]) - runner_x, dy = y_of(cells[t]) - runner_y, squared = dx * dx + dy * dy;
    if (squared < least) {
      least = squared;
      nearest = t;
    }
  }
  return nearest;
}

// Puts this agent on a cell and shows it to the others: `cells` has all agents' cells. `row` is the full observation,
// which all agents share except for the entry of the viewer: all x, all y, all types, NUM_AGENTS zeros.
__device__ void move_to(int x, int y, int* loc_x, int* loc_y, int* cells, float* row, float scale) {
  const int agent = agent_id();
  loc_x[agent_index()] = x;
  loc_y[agent_index()] = y;
  cells[agent] = cell_at(x, y);
  if (USE_FULL_OBSERVATION) {
    row[agent] = (float)x * scale;
    row[NUM_AGENTS + agent] = (float)y * scale;
    row[2 * NUM_AGENTS + agent] = agent == RUNNER ? 1.0f : 0.0f;
    row[3 * NUM_AGENTS + agent] = 0.0f;
  }
}

// Writes what this agent sees, coordinates and time as parts of their largest value. Full: `row` with a one for itself;
// time. Else: its own cell; the runner's, or for the runner the nearest tagger's; its own type; time.
__device__ void observe(const int* cells, const float* row, float scale, float time, float* observations) {
  const int agent = agent_id();
  float* seen = observations + (size_t)agent_index() * OBSERVATION_SIZE;
  if (USE_FULL_OBSERVATION) {
    for (int k = 0; k < ROW_SIZE; ++k) seen[k] = row[k];
    seen[3 * NUM_AGENTS + agent] = 1.0f;
  } else {
    const int other = agent == RUNNER ? nearest_tagger(cells) : RUNNER;
    seen[0] = (float)x_of(cells[agent]) * scale;
    seen[1] = (float)y_of(cells[agent]) * scale;
    seen[2] = (float)x_of(cells[other]) * scale;
    seen[3] = (float)y_of(cells[other]) * scale;
    seen[4] = agent == RUNNER ? 1.0f : 0.0f;
  }
  seen[OBSERVATION_SIZE - 1] = time;
}

extern "C" __global__ void step(int* loc_x, int* loc_y, const int* actions, const int* timestep, float* observations,
                                float* rewards, bool* terminated, bool* truncated, int grid_length, int episode_length,
                                float wall_hit_penalty, float tag_reward_for_tagger, float tag_penalty_for_runner,
                                float step_cost_for_tagger) {
  if (!is_active()) return;  // guard
  ENV_SHARED(int, cells, NUM_AGENTS);
  ENV_SHARED(float, row, ROW_SIZE);
  const int agent = agent_id(), i = agent_index(), action = actions[i];
  const float scale = 1.0f / (float)grid_length;

  const int to_x = loc_x[i] + (action == 1) - (action == 2), to_y = loc_y[i] + (action == 3) - (action == 4);
  const int x = min(max(to_x, 0), grid_length), y = min(max(to_y, 0), grid_length);
  const float penalty = wall_hit_penalty * (float)((x != to_x) + (y != to_y));
  move_to(x, y, loc_x, loc_y, cells, row, scale);
  sync_env();  // every agent's entries of cells and row are written before any is read

  int catchers = 0;
  for (int t = 0; t < TAGGER_COUNT; ++t) catchers += cells[t] == cells[RUNNER];
  const bool tagged = catchers > 0;
  if (agent == RUNNER)
    rewards[i] = (tagged ? -tag_penalty_for_runner : step_cost_for_tagger) - penalty;
  else
    rewards[i] = (tagged ? tag_reward_for_tagger : -step_cost_for_tagger) - penalty;

  const int now = timestep[env_id()];
  observe(cells, row, scale, (float)now * (1.0f / (float)episode_length), observations);
  if (agent == RUNNER) {
    terminated[env_id()] = tagged;
    truncated[env_id()] = !tagged && now >= episode_length;
  }
}

// Starts on random cells: the runner on any of them, each tagger on any but the runner's.
extern "C" __global__ void reset(int* loc_x, int* loc_y, float* observations, int grid_length) {
  if (!is_active()) return;  // guard
  ENV_SHARED(int, cells, NUM_AGENTS);
  ENV_SHARED(float, row, ROW_SIZE);
  const float scale = 1.0f / (float)grid_length;
  const unsigned side = (unsigned)grid_length + 1u, num_cells = side * side;
  Random shared = Random::env(), own = Random::agent();
  const unsigned runners = shared.below(num_cells);  // all agents draw the same
  unsigned place = own.below(num_cells - 1u);
  if (place >= runners) ++place;  // passes the runner's cell over
  if (agent_id() == RUNNER) place = runners;
  move_to((int)(place % side), (int)(place / side), loc_x, loc_y, cells, row, scale);
  sync_env();  // every agent's entries of cells and row are written before any is read
  observe(cells, row, scale, 0.0f, observations);
}

// Starts on given cells, the same for every env and episode.
extern "C" __global__ void reset_fixed(int* loc_x, int* loc_y, const int* starting_location_x,
                                       const int* starting_location_y, float* observations, int grid_length) {
  if (!is_active()) return;  // guard
  ENV_SHARED(int, cells, NUM_AGENTS);
  ENV_SHARED(float, row, ROW_SIZE);
  const float scale = 1.0f / (float)grid_length;
  move_to(starting_location_x[agent_id()], starting_location_y[agent_id()], loc_x, loc_y, cells, row, scale);
  sync_env();  // every agent's entries of cells and row are written before any is read
  observe(cells, row, scale, 0.0f, observations);
}
