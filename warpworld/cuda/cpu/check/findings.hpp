// What passes between the check runtime and Python (warpworld/checking/native.py mirrors these structs).
#pragma once

#include <stdint.h>

#define WW_CHECK_STOPPED 100  // error code: a kernel was ended before an access that would have done harm

extern "C" {

enum ww_finding_kind {
  WW_RACE = 1,           // two accesses of one element that no barrier orders, at least one of them a write
  WW_OUT_OF_BOUNDS = 2,  // an access beside an array
  WW_OTHER_ENV = 3,      // an access to another env's part of an array
  WW_UNWRITTEN = 4,      // a read of an element that was never written
  WW_UNGUARDED = 5,      // a write by a thread without an agent, or whose env is not stepped by this launch
  WW_STALE = 6,          // a read of what the previous episode left where the reset should have written
  WW_UNDEFINED = 7,      // what is undefined in C++
  WW_REPEATED = 8,       // random numbers that the thread has already drawn
  WW_READ_ONLY = 9,      // a write to an array that kernels may only read
  WW_PASSED_BY = 10,     // a thread that ran past a barrier at which others wait
};

enum ww_undefined_kind {
  WW_ADD = 1,
  WW_SUBTRACT = 2,
  WW_MULTIPLY = 3,
  WW_NEGATE = 4,
  WW_DIVIDE = 5,
  WW_SHIFT = 6,
  WW_CAST = 7,       // a float to a whole number that cannot hold it
  WW_LOAD = 8,       // of a value that the type does not have
  WW_INDEX = 9,      // outside of an array of known size
  WW_NULL = 10,
  WW_ALIGNMENT = 11,
  WW_NO_RETURN = 12,
};

enum ww_value_kind { WW_NO_VALUE = 0, WW_SIGNED = 1, WW_UNSIGNED = 2, WW_REAL = 3 };

struct ww_value {
  uint64_t bits;  // of 64-bit numbers
  int32_t kind;
};

struct ww_undefined {
  int32_t what;
  const char* type;      // its name, in quotes; in the module
  ww_value left, right;  // operands
};

enum ww_region_kind { WW_STORE = 0, WW_SHARED = 1, WW_VARIABLE = 2 };

struct ww_region {
  const char* name;
  char* base;
  uint64_t bytes, env_bytes;  // env_bytes: of one env's part; 0 where all envs share the array
  uint32_t unit;              // bytes of what is watched as one
  uint32_t item;              // bytes of an element; 0 where that is not known
  int32_t kind;
  int32_t written;  // its contents are defined from the start
  int32_t read_only;
  int32_t scratch;  // its contents mean nothing between launches
};

struct ww_variable {  // of the module, by its offset in the image or in the thread-local block
  const char* name;
  uint64_t offset, bytes;
  int32_t thread_local_storage;
};

struct ww_assignment {  // a function of the module that the compiler wrote: what it does is its caller's
  uint64_t offset, bytes;
};

struct ww_finding {
  int32_t kind, region, kernel_index;
  uint32_t env, thread, other_env, other_thread;
  int32_t write, other_write, atomic, other_atomic;
  int32_t barrier;  // the line at which others wait
  int32_t same;  // the value was the same before and after; numbers that all agents share, drawn again at one place
  uint32_t size, step;
  int64_t offset;             // from the region's start
  uint64_t pc, other_pc;      // offsets in the module's image; 0 if there is none
  uint64_t site, other_site;  // of races: likewise, from where the kernel itself came there
  uint64_t count;
  ww_undefined undefined;
};

// A thread's plain update of an element: a write of what the same thread has read before in the launch.
struct ww_update {
  uint64_t pc, site;         // as in a finding; pc 0: this one is free
  uint64_t read_pc;          // the place of the read
  uint64_t offset;           // in the env's part of the region
  uint64_t value;            // the first bytes that it wrote
  int32_t region, kernel_index;
  uint32_t thread, env, step;  // thread: the agent; env and step: of the first update
  int32_t varies;            // not every update has written the same value
  int32_t ordered;           // two threads updated the element here in one launch, and nothing but barriers was between
};

struct ww_check_settings {
  const ww_region* regions;
  const ww_variable* variables;
  const ww_assignment* assignments;
  uint32_t num_regions, num_variables, num_assignments;
  uint32_t num_agents, envs_per_warp;  // envs_per_warp: 0 for one env a block
  uint32_t order;                      // 0 forward, 1 backward, 2 shuffled
  char *harmless, *harmless_end;  // memory where a wrong access does no harm
  int32_t speaks;                 // kernels' output is shown
  int32_t watching;               // accesses will be looked at
  int32_t allocates;              // kernels use memory that a library has allocated: what is far from all may be legal
};
}
