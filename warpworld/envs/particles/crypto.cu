// Crypto: Alice says a word, from which Bob, who knows a key, should name a message, and Eve should not, as mpe2's
// simple_crypto. Nobody moves.
//
// Arrays: message and key (envs,), 0 or 1; words (envs, 3) that eve, bob and alice said in this step, -1 at the start;
// observations_eve (envs, 1, 4) Alice's word; observations_bob (envs, 1, 8) the key and that word; observations_alice (envs,
// 1, 8) the message and the key; each as a one in four places. Each agent writes its own; Alice writes what is of the env.
// Read: actions (envs, 3, 1), words.
#include <warpworld.cuh>

constexpr int WORDS = 4, SECRETS = 2;
constexpr int EVE = EVE_FIRST, BOB = BOB_FIRST, ALICE = ALICE_FIRST;

struct Seen {
  float *observations_eve, *observations_bob, *observations_alice;
};

// Writes a one in one of the places of WORDS, or in none where it is -1.
__device__ void write(float* row, int which) {
  for (int k = 0; k < WORDS; ++k) row[k] = k == which ? 1.0f : 0.0f;
}

__device__ void look(const Seen& seen, int message, int key, int word) {
  const size_t env = env_id();
  if (agent_id() == EVE) write(seen.observations_eve + env * WORDS, word);
  if (agent_id() == BOB) {
    write(seen.observations_bob + env * 2 * WORDS, key);
    write(seen.observations_bob + env * 2 * WORDS + WORDS, word);
  }
  if (agent_id() == ALICE) {
    write(seen.observations_alice + env * 2 * WORDS, message);
    write(seen.observations_alice + env * 2 * WORDS + WORDS, key);
  }
}

extern "C" __global__ void step(const int* message, const int* key, int* words, const int* actions, const int* timestep,
                                Seen seen, float* rewards, bool* truncated, int episode_length) {
  if (!is_active()) return;  // guard
  const int env = env_id(), *said = actions + env * NUM_AGENTS;
  // the squared distance between two of the rows that are shown
  const float by_eve = said[EVE] == message[env] ? 0.0f : 2.0f, by_bob = said[BOB] == message[env] ? 0.0f : 2.0f;
  rewards[agent_index()] = agent_id() == EVE ? -by_eve : by_eve - by_bob;
  words[agent_index()] = said[agent_id()];
  look(seen, message[env], key[env], said[ALICE]);
  if (agent_id() == ALICE) truncated[env] = timestep[env] >= episode_length;
}

extern "C" __global__ void reset(int* message, int* key, int* words, Seen seen) {
  if (!is_active()) return;  // guard
  Random random = Random::env();  // all draw the same
  const int drawn = (int)random.below(SECRETS), lock = (int)random.below(SECRETS);
  words[agent_index()] = -1;
  look(seen, drawn, lock, -1);
  if (agent_id() != ALICE) return;
  message[env_id()] = drawn;
  key[env_id()] = lock;
}
