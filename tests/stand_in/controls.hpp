// What tests set and read, beside the driver's own functions; driver.py calls it.
#pragma once

#include "perturbation.hpp"
#include "state.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

// Everything as in a fresh process, but for contexts, modules and memory.
EXPORT void stand_in_reset() {
  stand_in::Lock lock;
  stand_in::State& state = stand_in::state;
  stand_in::forget_launches();
  stand_in::State fresh;
  fresh.initialized = state.initialized;
  fresh.forked = state.forked;
  fresh.allocated_bytes = state.allocated_bytes;
  fresh.launches = state.launches;
  state = fresh;
}

EXPORT void stand_in_pretend(int num_devices, int driver_version, int major, int minor, uint64_t memory_bytes) {
  stand_in::Lock lock;
  stand_in::State& state = stand_in::state;
  state.num_devices = num_devices < stand_in::max_devices ? num_devices : stand_in::max_devices;
  state.driver_version = driver_version;
  state.major = major;
  state.minor = minor;
  state.memory_bytes = memory_bytes;
}

// 0: blocks and threads in ascending order, and memory as it is.
EXPORT void stand_in_perturb(uint64_t seed) {
  stand_in::Lock lock;
  stand_in_perturbed = {seed, 0};
}

EXPORT void stand_in_set_timeout(int milliseconds) {
  stand_in::Lock lock;
  stand_in::state.timeout_milliseconds = milliseconds;
}

// The call-th call from now, 1 being the next, returns `code` and does nothing. False if too many are waiting.
EXPORT bool stand_in_inject(const char* function, unsigned call, int code) {
  stand_in::Lock lock;
  for (stand_in::Injected& each : stand_in::state.injected) {
    if (each.calls_left) continue;
    strncpy(each.function, function, sizeof each.function - 1);
    each.calls_left = call;
    each.code = code;
    return true;
  }
  return false;
}

EXPORT unsigned stand_in_calls(const char* function) {
  stand_in::Lock lock;
  for (const stand_in::Counter& counter : stand_in::state.counters)
    if (counter.function && !strcmp(counter.function, function)) return counter.calls;
  return 0;
}

EXPORT void stand_in_record(bool on) {
  stand_in::Lock lock;
  stand_in::forget_launches();
  stand_in::state.recording = on;
}

EXPORT unsigned stand_in_num_launches() {
  stand_in::Lock lock;
  return stand_in::state.num_launches;
}

EXPORT const stand_in::Launch* stand_in_launches() { return stand_in::state.launches; }

EXPORT const char* stand_in_fault() { return stand_in::state.fault; }

EXPORT uint64_t stand_in_allocated_bytes() {
  stand_in::Lock lock;
  return stand_in::state.allocated_bytes;
}
