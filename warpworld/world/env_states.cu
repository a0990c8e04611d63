// Copies the states of envs: out of the store into rows of bytes, from such rows back into the store, and from env to env.
//
// A row holds `layout`, eight bytes that stand for the arrays, and then an env's part of each array, one behind the
// other. `parts` is the address of num_parts Parts, `job` that of the Job of this call: the caller writes it before each
// launch. A launch takes any number of entries, num_envs in a round: of every CHUNK blocks the first handles CHUNK of
// them. No two entries that are written are of one env, and none is the source of another, so that no two
// blocks meet.
#include <warpworld.cuh>

constexpr int LAYOUT_BYTES = 8;
constexpr int CHUNK = LANES_SIDE_BY_SIDE ? 1 : 16;  // a lane alone is quicker with one part of several envs at a time

struct Part {
  unsigned char* array;
  int64_t bytes;  // of one env
};

struct Job {
  int64_t count;
  const int64_t* envs;     // (count,) indices
  unsigned char* rows;     // of read_states, compare_layouts and write_states
  int64_t stride;          // bytes from row to row; 0 where all entries share one
  const int64_t* sources;  // of fork_states: indices
  int64_t source_stride;   // from index to index; 0 where all entries share one
  int64_t reseed;          // whether the envs that are written draw random numbers of their own from here on
  int64_t mismatch;        // is set to 1 where a row has another layout
};

// The entries first .. end-1 of a call.
struct Chunk {
  int64_t first, end;
};

// Whether this block handles entries at all.
__device__ inline bool has_entries() { return env_id() % CHUNK == 0; }

// The entries of this block in the round that begins with entry `round`; first >= end where there are none.
__device__ inline Chunk chunk_of(const Job& call, int64_t round, int num_envs) {
  const int64_t last = round + num_envs < call.count ? round + num_envs : call.count, first = round + env_id();
  return {first, first + CHUNK < last ? first + CHUNK : last};
}

__device__ inline void copy_bytes(unsigned char* to, const unsigned char* from, int64_t bytes) {
  if (LANES_SIDE_BY_SIDE) {
    for (int64_t i = lane(); i < bytes; i += num_lanes()) to[i] = from[i];
  } else {
    memcpy(to, from, (size_t)bytes);
  }
}

enum Way { ENV_TO_ROW, ROW_TO_ENV, ENV_TO_ENV };

// Copies a part of each entry of a chunk. BYTES are those of an env, known to the compiler; 0 where it does not know them.
template <Way WAY, int BYTES>
__device__ inline void copy_part(const Job& call, Part part, Chunk chunk, int64_t offset) {
  const int64_t bytes = BYTES ? BYTES : part.bytes, stride = call.stride, source_stride = call.source_stride;
  const int64_t *envs = call.envs, *sources = call.sources;
  unsigned char* rows = call.rows + offset;
  for (int64_t i = chunk.first; i < chunk.end; ++i) {
    unsigned char *env = part.array + envs[i] * bytes, *row = rows + i * stride;
    if (WAY == ENV_TO_ROW) copy_bytes(row, env, bytes);
    if (WAY == ROW_TO_ENV) copy_bytes(env, row, bytes);
    if (WAY == ENV_TO_ENV) copy_bytes(env, part.array + sources[i * source_stride] * bytes, bytes);
  }
}

// Copies all parts of each entry of a chunk.
template <Way WAY>
__device__ inline void copy_parts(const Job& call, const Part* parts, int num_parts, Chunk chunk) {
  int64_t offset = LAYOUT_BYTES;
  for (int p = 0; p < num_parts; offset += parts[p++].bytes) {
    const Part part = parts[p];
    switch (LANES_SIDE_BY_SIDE ? 0 : part.bytes) {  // side by side, lanes share the bytes one by one
      case 1: copy_part<WAY, 1>(call, part, chunk, offset); break;
      case 4: copy_part<WAY, 4>(call, part, chunk, offset); break;
      case 8: copy_part<WAY, 8>(call, part, chunk, offset); break;
      case 16: copy_part<WAY, 16>(call, part, chunk, offset); break;
      default: copy_part<WAY, 0>(call, part, chunk, offset);
    }
  }
}

extern "C" __global__ void read_states(uint64_t job, uint64_t parts, int num_parts, uint64_t layout, int num_envs) {
  const Job& call = *(const Job*)job;
  for (int64_t round = 0; has_entries() && round < call.count; round += num_envs) {
    const Chunk chunk = chunk_of(call, round, num_envs);
    for (int64_t i = chunk.first; i < chunk.end; ++i)
      copy_bytes(call.rows + i * call.stride, (const unsigned char*)&layout, LAYOUT_BYTES);
    copy_parts<ENV_TO_ROW>(call, (const Part*)parts, num_parts, chunk);
  }
}

extern "C" __global__ void compare_layouts(uint64_t job, uint64_t layout, int num_envs) {
  Job& call = *(Job*)job;
  for (int64_t round = 0; has_entries() && round < call.count; round += num_envs) {
    const Chunk chunk = chunk_of(call, round, num_envs);
    for (int64_t i = chunk.first; i < chunk.end; ++i) {
      uint64_t found;
      memcpy(&found, call.rows + i * call.stride, LAYOUT_BYTES);
      if (found != layout) call.mismatch = 1;
    }
  }
}

// A key that follows from the env's own key and stream. No env draws that number: draws have an agent below 0xFFFE in
// their counters, or 0xFFFF.
__device__ inline uint64_t next_key(uint64_t key, uint32_t stream) {
  const ww_uint4 words = ww_philox(ww_uint4{0u, stream, 0u, 0xFFFEu}, (uint32_t)key, (uint32_t)(key >> 32));
  return words.x | (uint64_t)words.y << 32;
}

// Overwrites the states of envs; with `reseed` each keeps its stream and gets its next key.
template <Way WAY>
__device__ inline void overwrite(uint64_t job, uint64_t parts, int num_parts, uint64_t* random_key,
                                 uint32_t* random_stream, int num_envs) {
  const Job& call = *(const Job*)job;
  for (int64_t round = 0; has_entries() && round < call.count; round += num_envs) {
    const Chunk chunk = chunk_of(call, round, num_envs);
    uint64_t keys[CHUNK] = {};
    uint32_t streams[CHUNK] = {};
    for (int64_t i = chunk.first; call.reseed && i < chunk.end; ++i) {
      keys[i - chunk.first] = random_key[call.envs[i]];
      streams[i - chunk.first] = random_stream[call.envs[i]];
    }
    sync_env();  // every lane has read the envs' own keys and streams before they are written
    copy_parts<WAY>(call, (const Part*)parts, num_parts, chunk);
    sync_env();  // the sources' keys and streams are written before they are replaced
    if (!call.reseed || chunk.first >= chunk.end || lane() != 0) continue;
    for (int k = 0; k < CHUNK; ++k) keys[k] = next_key(keys[k], streams[k]);  // of all at once, for vector registers
    for (int64_t i = chunk.first; i < chunk.end; ++i) {
      random_key[call.envs[i]] = keys[i - chunk.first];
      random_stream[call.envs[i]] = streams[i - chunk.first];
    }
  }
}

extern "C" __global__ void write_states(uint64_t job, uint64_t parts, int num_parts, uint64_t* random_key,
                                        uint32_t* random_stream, int num_envs) {
  overwrite<ROW_TO_ENV>(job, parts, num_parts, random_key, random_stream, num_envs);
}

extern "C" __global__ void fork_states(uint64_t job, uint64_t parts, int num_parts, uint64_t* random_key,
                                       uint32_t* random_stream, int num_envs) {
  overwrite<ENV_TO_ENV>(job, parts, num_parts, random_key, random_stream, num_envs);
}
