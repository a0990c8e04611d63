// The author's header: the functions that an env kernel uses, the same on both backends.
//
//   env_id()        index of this env in the world           agent_id()      index of this agent in its env
//   agent_index()   env_id() * NUM_AGENTS + agent_id()       group_index()   the same within one group's own arrays
//   is_active()     false if the lane has no agent, or its env skips this launch: it may read, but not write
//   lane()          index of this thread in its env          num_lanes()     threads of an env
//   sync_env()      barrier among the env's remaining lanes; branches around it must be uniform within the env
//   ENV_SHARED(type, name, n)   an array that the env's threads share; undefined until written
//   LANES_SIDE_BY_SIDE   constant: an env's lanes run in parallel, so neighbouring lanes should access neighbouring
//                        memory; false on a CPU, where lanes take turns, and each should stay in its own stretch
//   ENVS_IN_VECTORS;     before the kernels of a file: on a CPU, envs of one thread may run side by side in vectors. No env reads
//                        what another one writes, and a fault's message names a group of envs
//   Random::agent(), Random::env()   random numbers, see random.cuh
//
// The build defines NUM_AGENTS, OBSERVATION_SIZE (_<GROUP> or _<KEY> where they differ), <GROUP>_FIRST, <GROUP>_COUNT,
// <GROUP>_STRIDE where groups declare their agents, and the Params named in `compile_time`.
#pragma once

#include <stdint.h>

#ifndef NUM_AGENTS
#error "NUM_AGENTS is defined by warpworld's build: load this file through warpworld, not by itself"
#endif

#include "context.cuh"

#if defined(__CUDACC__)
#include "gpu/words.cuh"
#else
#include "cpu/words.hpp"
#endif

WW_FUNCTION int agent_index() { return env_id() * NUM_AGENTS + agent_id(); }

// Index into an array of shape (num_envs, count) that holds one group's agents only.
WW_FUNCTION int group_index(int first, int count) { return env_id() * count + agent_id() - first; }
// The same where the group's agents are `stride` apart.
WW_FUNCTION int group_index(int first, int count, int stride) { return env_id() * count + (agent_id() - first) / stride; }

#include "random.cuh"
