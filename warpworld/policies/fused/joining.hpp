// What a group sees, put together from the arrays of its parts, as a step of a world's program.
#pragma once

#include <stdint.h>
#include <string.h>

namespace fused {

// An array of one part; strides in bytes. fused/joining.py mirrors it.
struct JoinedPart {
  const char* first;
  int64_t env_stride, agent_stride, bytes;  // bytes of an agent's
};

// fused/joining.py mirrors it.
struct JoiningCall {
  const JoinedPart* parts;
  int64_t num_parts, agents, num_envs;
  char* rows;  // (envs, agents, bytes of all parts)
};

static void join(const JoiningCall& call, int64_t first_env, int64_t end_env) {
  int64_t row_bytes = 0;
  for (int64_t i = 0; i < call.num_parts; i++) row_bytes += call.parts[i].bytes;
  char* to = call.rows + first_env * call.agents * row_bytes;
  for (int64_t env = first_env; env < end_env; env++)
    for (int64_t agent = 0; agent < call.agents; agent++)
      for (int64_t i = 0; i < call.num_parts; to += call.parts[i++].bytes) {
        const JoinedPart& part = call.parts[i];
        memcpy(to, part.first + env * part.env_stride + agent * part.agent_stride, part.bytes);
      }
}

}  // namespace fused
