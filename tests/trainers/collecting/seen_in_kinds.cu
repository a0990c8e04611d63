// Two agents walk on the places 0 to 7, and see both places: as bytes, choices, flags, or all of it in floats.

constexpr int PLACES = 8;

__device__ int place_of(const int* x, int agent) { return x[env_id() * NUM_AGENTS + agent]; }
__device__ int seen_at(int agent, int width) { return agent_index() * NUM_AGENTS * width + agent * width; }

extern "C" __global__ void walk(int* x, const int* actions, const int* timestep, float* rewards, bool* truncated) {
  if (!is_active()) return;
  const int self = agent_index(), wanted = x[self] + actions[self] - 1;
  x[self] = min(max(wanted, 0), PLACES - 1);
  rewards[self] = -fabsf((float)x[self] - 3.0f);
  if (agent_id() == 0) truncated[env_id()] = timestep[env_id()] == 5;
}

extern "C" __global__ void place(int* x) {
  if (!is_active()) return;
  x[agent_index()] = Random::agent().below(PLACES);
}

extern "C" __global__ void see_bytes(const int* x, unsigned char* observations) {
  if (!is_active()) return;
  for (int i = 0; i < NUM_AGENTS; ++i) observations[seen_at(i, 1)] = (unsigned char)(36 * place_of(x, i));
}

extern "C" __global__ void see_scaled(const int* x, float* observations) {
  if (!is_active()) return;
  for (int i = 0; i < NUM_AGENTS; ++i) observations[seen_at(i, 1)] = (float)(36 * place_of(x, i)) / 255.0f;
}

extern "C" __global__ void see_choices(const int* x, int* observations) {
  if (!is_active()) return;
  for (int i = 0; i < NUM_AGENTS; ++i) observations[seen_at(i, 1)] = place_of(x, i) - 2;
}

extern "C" __global__ void see_flags(const int* x, bool* observations) {
  if (!is_active()) return;
  for (int i = 0; i < NUM_AGENTS; ++i)
    for (int j = 0; j < PLACES; ++j) observations[seen_at(i, PLACES) + j] = j == place_of(x, i);
}

extern "C" __global__ void see_one_hot(const int* x, float* observations) {
  if (!is_active()) return;
  for (int i = 0; i < NUM_AGENTS; ++i)
    for (int j = 0; j < PLACES; ++j) observations[seen_at(i, PLACES) + j] = j == place_of(x, i) ? 1.0f : 0.0f;
}

extern "C" __global__ void see_mixed(const int* x, unsigned char* observations_eye, int* observations_own,
                                     float* observations_place) {
  if (!is_active()) return;
  for (int i = 0; i < NUM_AGENTS; ++i) observations_eye[seen_at(i, 1)] = (unsigned char)(36 * place_of(x, i));
  observations_own[agent_index()] = place_of(x, agent_id());
  observations_place[agent_index()] = 10.0f * (float)place_of(x, agent_id());
}

extern "C" __global__ void see_widened(const int* x, float* observations_eye, float* observations_own,
                                       float* observations_place) {
  if (!is_active()) return;
  for (int i = 0; i < NUM_AGENTS; ++i) observations_eye[seen_at(i, 1)] = (float)(36 * place_of(x, i)) / 255.0f;
  for (int j = 0; j < PLACES; ++j)
    observations_own[agent_index() * PLACES + j] = j == place_of(x, agent_id()) ? 1.0f : 0.0f;
  observations_place[agent_index()] = 10.0f * (float)place_of(x, agent_id());
}
