// Repeats: a program that runs several times in a row in one call, as the steps of a rollout do.
#pragma once

#include "program.hpp"

extern "C" {

// managers/cpu/native_runtime.py mirrors it.
struct ww_repeats {
  ww_program* program;
  int times, done;
  int32_t* row;  // counted up after each time
};

int ww_run_program(ww_program* program);
}

namespace ww {

constexpr double most_repeating = 5e7;  // nanoseconds of one call, which runs once at least: Ctrl-C is seen between calls

static double now_nanoseconds();

// Returns the program's error. Threads take turns between two times.
static inline int repeat_program(ww_repeats& repeats) {
  for (const double end = now_nanoseconds() + most_repeating; repeats.done < repeats.times;) {
    if (const int error = ww_run_program(repeats.program)) return error;
    ++*repeats.row;
    repeats.done++;
    if (now_nanoseconds() > end) break;
  }
  return WW_OK;
}

}  // namespace ww
