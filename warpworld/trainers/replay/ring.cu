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

// Who takes part in the new rows, and what ends with them. The last of them lies before the one that is written next.
extern "C" __global__ void note_rows(Ring ring, const bool* played, const int* row, unsigned char* takes_part,
                                     int num_steps, int num_envs) {
  const int block = num_envs * ring.agents, first = row_after(row[0], ring.rows - num_steps, ring.rows);
  for (int t = 0; t < num_steps; ++t) {
    const int at = row_after(first, t, ring.rows);
    for (int i = first_lane(); i < block; i += all_lanes(num_envs)) {
      const int env = ring.agents == 1 ? i : i / ring.agents;
      const size_t item = (size_t)at * block + i;
      int flags = ring.masked(item) ? 0 : played[i] ? COUNTS | PLAYED : COUNTS;
      if (ring.terminated(at, env) || ring.leaves(item)) flags |= ENDS;
      if (ring.cut_off(at, env)) flags |= CUT_OFF;
      if (ring.cut_alone(at, env, i - env * ring.agents)) flags |= CUT_ALONE;
      takes_part[item] = (unsigned char)flags;
    }
  }
}
