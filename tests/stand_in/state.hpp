// What the stand-in driver pretends to be, what it was told to fail at, and what was asked of it. Everything is reached
// under one lock.
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// CUresult
enum Result : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  invalid_device = 101,
  no_device = 100,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  invalid_handle = 400,
  not_found = 500,
  illegal_address = 700,
  out_of_resources = 701,
  launch_timeout = 702,
  assertion = 710,
  misaligned_address = 716,
  launch_failed = 719,
  not_supported = 801,
};

namespace stand_in {

constexpr int max_functions = 256, max_injected = 32, max_launches = 1 << 16, max_devices = 8;

struct Counter {
  const char* function;
  unsigned calls;
};

struct Injected {
  char function[64];
  unsigned calls_left;  // the call that is to fail when this comes to 0
  int code;
};

// tests/stand_in/driver.py mirrors it.
struct Launch {
  char name[128];
  unsigned grid[3], block[3], shared_bytes;
  uint64_t stream;
  unsigned char* parameters;
  size_t parameter_bytes;
};

struct State {
  int num_devices = 1, driver_version = 13000, major = 9, minor = 0, timeout_milliseconds = 30000;
  uint64_t memory_bytes = 80ull << 30, allocated_bytes = 0;
  bool initialized = false, forked = false, recording = false;
  int pending = 0;  // a kernel's fault that nobody has heard of yet
  int sticky = 0;   // one that was told: nothing works any more
  char fault[512] = "";
  Counter counters[max_functions] = {};
  Injected injected[max_injected] = {};
  Launch* launches = nullptr;
  unsigned num_launches = 0;
};

static State state;
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;

struct Lock {
  Lock() { pthread_mutex_lock(&state_lock); }
  ~Lock() { pthread_mutex_unlock(&state_lock); }
};

// ---- contexts ------------------------------------------------------------------------------------------------------
struct Context {
  int device;
  unsigned uses;
};
static Context primary[max_devices];
constexpr int max_depth = 16;
static __thread Context* stack[max_depth];
static __thread int depth;

static Context* current_context() { return depth ? stack[depth - 1] : nullptr; }

static int push_context(Context* context) {
  if (depth == max_depth) return out_of_memory;
  stack[depth++] = context;
  return success;
}

// ---- what every call begins with -----------------------------------------------------------------------------------
enum Rule : unsigned {
  before_init = 1,   // may be called before cuInit
  in_context = 2,    // needs a current context, and fails once a kernel has faulted
  synchronises = 4,  // hears of kernels' faults
};

static int injected_error(const char* function) {
  for (Injected& each : state.injected)
    if (each.calls_left && !strcmp(each.function, function) && --each.calls_left == 0) return each.code;
  return success;
}

static void count_call(const char* function) {
  for (Counter& counter : state.counters) {
    if (!counter.function) counter.function = function;
    if (counter.function != function && strcmp(counter.function, function) != 0) continue;
    counter.calls++;
    return;
  }
}

static bool is_sticky(int code) { return code == illegal_address || (code >= launch_timeout && code <= launch_failed); }

static int begin_call(const char* function, unsigned rules) {
  count_call(function);
  if (const int code = injected_error(function)) {
    if (is_sticky(code)) state.sticky = code;
    return code;
  }
  if (state.forked || (!state.initialized && !(rules & before_init))) return not_initialized;
  if (!(rules & in_context)) return success;
  if (!current_context()) return invalid_context;
  if (rules & synchronises && state.pending) {
    state.sticky = state.pending;
    state.pending = 0;
  }
  return state.sticky;
}

// The first line of every function of the driver.
#define DRIVER_CALL(rules)  \
  stand_in::Lock lock_;     \
  if (const int code_ = stand_in::begin_call(__func__, (rules))) return code_

// ---- launches, for tests to look at --------------------------------------------------------------------------------
static void forget_launches() {
  for (unsigned i = 0; i < state.num_launches; i++) free(state.launches[i].parameters);
  state.num_launches = 0;
}

static void record_launch(Launch launch, const void* parameters) {
  if (!state.recording || state.num_launches == max_launches) return;
  if (!state.launches) state.launches = (Launch*)calloc(max_launches, sizeof(Launch));
  launch.parameters = (unsigned char*)malloc(launch.parameter_bytes + 1);
  memcpy(launch.parameters, parameters, launch.parameter_bytes);
  state.launches[state.num_launches++] = launch;
}

}  // namespace stand_in
