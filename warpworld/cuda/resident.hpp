// An object of a C++ class for each env, in files that only a CPU can run.
//
// RESIDENT(Class); says of which class. Each env gets a Class() before the first reset, which is destroyed when its world
// closes. Kernels take `const uint64_t* residents`, and resident(residents) is the object of their env. Its state must be
// all in what it saves, unless the class is trivially copyable:
//
//   size_t size() const;                         // bytes that save writes: at most the environment's resident_bytes
//   void save(uint8_t* to) const;
//   void load(const uint8_t* from, size_t size);  // makes the object as the one was that saved these bytes
//
// With these states, forks, copies and checkpoints hold the objects too. Random numbers come from Random, or from a
// generator of the object's own that is seeded with them and saved.
#pragma once

#include <string.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <warpworld.cuh>

#define RESIDENT(Class)                                                                                       \
  using ww_resident = Class;                                                                                  \
  __device__ inline Class& resident(const uint64_t* residents) { return *(Class*)(uintptr_t)residents[env_id()]; } \
  static_assert(true, "")
