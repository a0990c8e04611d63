// Speaker and listener: one agent knows which landmark is the goal and says a word, another hears it and should walk
// there, as mpe2's simple_speaker_listener.
//
// Arrays: those of particles.cuh; goal (envs,) a landmark; word (envs,), -1 at the start; observations_speaker and
// observations_listener, see look(); overview (envs, 4), what critics read, see look(); rewards (envs, agents). Read:
// actions, of the speaker a word.
constexpr int LANDMARKS = 3;
#include "particles.cuh"

constexpr int WORDS = 3, LISTENER = LISTENER_FIRST, OVERVIEW = 4;

struct Rules {
  static constexpr bool agents_collide = false;
  static constexpr float landmark_size = 0.0f;
  __device__ float size(int) const { return 0.075f; }
  __device__ Push push(int agent) const { return {agent == LISTENER ? 5.0f : 0.0f, INFINITY}; }
};

struct Seen {
  float* observations_speaker;
  float* observations_listener;
  float* overview;
};

// Shows the speaker the goal's colour, and the listener its velocity, where landmarks are, and the word. Shows
// critics how the listener moves and where the goal is as seen from it.
__device__ void look(const Plane& plane, int goal, int word, const Seen& seen) {
  const int env = env_id(), listener = env * NUM_AGENTS + LISTENER;
  if (lane() > 0) return;
  Row row_of_speaker{seen.observations_speaker + env * OBSERVATION_SIZE_SPEAKER};
  for (int l = 0; l < LANDMARKS; ++l) row_of_speaker.add(l == goal ? 0.65f : 0.15f);
  Row row{seen.observations_listener + env * OBSERVATION_SIZE_LISTENER};
  row.add(plane.velocity[listener]);
  row.add_places(plane.landmark + env * LANDMARKS, 0, LANDMARKS, plane.position[listener]);
  row.add_one_of(WORDS, word);
  Row overview{seen.overview + env * OVERVIEW};
  overview.add(plane.velocity[listener]);
  overview.add(from_to(plane.position[listener], plane.landmark[env * LANDMARKS + goal]));
}

extern "C" __global__ void step(Plane plane, TimeLimit limit, const int* goal, int* word, const int* actions, Seen seen,
                                float* rewards) {
  if (!is_active()) return;  // guard
  const int env = env_id(), first = env * NUM_AGENTS, said = actions[first];
  move(plane, actions, Rules{});
  if (lane() == 0) word[env] = said;
  const float2 place = plane.landmark[env * LANDMARKS + goal[env]];
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes())
    rewards[first + agent] = -squared(from_to(plane.position[first + LISTENER], place));
  look(plane, goal[env], said, seen);
  cut(limit);
}

extern "C" __global__ void reset(Plane plane, int* goal, int* word, Seen seen) {
  if (!is_active()) return;  // guard
  const int drawn = (int)Random::env().below(LANDMARKS);
  if (lane() == 0) {
    goal[env_id()] = drawn;
    word[env_id()] = -1;
  }
  scatter(plane, 1.0f);
  look(plane, drawn, -1, seen);
}
