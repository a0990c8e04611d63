// Keeps a ring of rows: which row is written next, and what the rows of an iteration of NUM_STEPS steps came to.
#include "ring.cuh"

// The next step goes into the next row.
extern "C" __global__ void advance(int* row, int num_envs) {
  if (first_lane() == 0) row[0] = row_after(row[0], 1);
}

// ---- after an iteration ------------------------------------------------------------------------------------------------
// NUM_STEPS more rows are written.
extern "C" __global__ void count_rows(int64_t* written, int num_envs) {
  if (first_lane() == 0) written[0] += NUM_STEPS;
}

// Walks through the new rows: who takes part, who has left its episode.
extern "C" __global__ void note_rows(Ring ring, const bool* played, const int64_t* written, unsigned char* takes_part,
                                     bool* has_left, int num_envs) {
  const int64_t oldest = written[0] - NUM_STEPS;
  for (int i = first_lane(); i < num_envs * AGENTS; i += all_lanes(num_envs)) {
    const int env = i / AGENTS, agent = i % AGENTS;
    bool left = has_left[i];
    for (int t = 0; t < NUM_STEPS; ++t) {
      const int row = (int)((oldest + t) % ROWS);
      const size_t item = ring.item(row, env, agent);
      const bool counts = !left && !ring.masked(item);
      takes_part[item] = (unsigned char)(counts ? (played[i] ? COUNTS | PLAYED : COUNTS) : 0);
      left = !ring.ended(row, env) && (left || ring.leaves(item));
    }
    has_left[i] = left;
  }
}
