// Keeps a ring of rows: which row is written next, and who took part in the num_steps rows of an iteration.
#include "ring.cuh"

// The next step goes into the next row.
extern "C" __global__ void advance(int* row, int rows, int num_envs) {
  if (first_lane() == 0) row[0] = row_after(row[0], 1, rows);
}

// ---- after an iteration ------------------------------------------------------------------------------------------------
// So many more rows are written.
extern "C" __global__ void count_rows(int64_t* written, int num_steps, int num_envs) {
  if (first_lane() == 0) written[0] += num_steps;
}

// Who takes part in the new rows, and what ends with them.
extern "C" __global__ void note_rows(Ring ring, const bool* played, const int64_t* written, unsigned char* takes_part,
                                     int num_steps, int num_envs) {
  const int64_t oldest = written[0] - num_steps;
  const int block = num_envs * ring.agents;
  for (int t = 0; t < num_steps; ++t) {
    const int row = (int)((oldest + t) % ring.rows);
    for (int i = first_lane(); i < block; i += all_lanes(num_envs)) {
      const int env = i / ring.agents;
      const size_t item = (size_t)row * block + i;
      int flags = ring.masked(item) ? 0 : played[i] ? COUNTS | PLAYED : COUNTS;
      if (ring.terminated(row, env) || ring.leaves(item)) flags |= ENDS;
      if (ring.cut_off(row, env)) flags |= CUT_OFF;
      if (ring.cut_alone(row, env, i - env * ring.agents)) flags |= CUT_ALONE;
      takes_part[item] = (unsigned char)flags;
    }
  }
}
