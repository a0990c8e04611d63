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

// Who takes part in the new rows.
extern "C" __global__ void note_rows(Ring ring, const bool* played, const int64_t* written, unsigned char* takes_part,
                                     int num_envs) {
  const int64_t oldest = written[0] - NUM_STEPS;
  const int block = num_envs * AGENTS;
  for (int i = first_lane(); i < NUM_STEPS * block; i += all_lanes(num_envs)) {
    const size_t item = (size_t)((oldest + i / block) % ROWS) * block + i % block;
    const unsigned char counts = played[i % block] ? COUNTS | PLAYED : COUNTS;
    takes_part[item] = ring.masked(item) ? (unsigned char)0 : counts;
  }
}
