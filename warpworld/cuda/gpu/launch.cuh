// What every launch carries besides the author's arguments: the world's context, and the world's own work, which is done
// before the author's kernel and in the same launch. managers/cuda/launches.py mirrors these structs.
#pragma once

#include "../context.cuh"

#define WW_MAX_COPIES 8  // of a launch; a world that copies more makes one more launch

enum ww_transition {
  WW_STAY = 0,
  WW_BEGIN_STEP = 1,   // every env takes part; timestep and clock advance; ends are cleared
  WW_BEGIN_RESET = 2,  // the envs that the caller marked active restart: timestep 0, clock advances, no ends
  WW_END_STEP = 3,     // the envs that are reset in this step become the active ones; their timestep returns to 0
  WW_BEGIN_SOME = 4,   // as WW_BEGIN_STEP, of the envs that the caller marked active
};

// Copies `bytes` of each env, from source + env * source_stride to target + env * target_stride + *row * row_stride. With
// slots, it keeps the final observations of an env that was truncated: target is (num_envs, slots, bytes), and the next
// free slot of the env is taken.
struct ww_copy {
  const char* source;
  char* target;
  uint64_t source_stride, target_stride, bytes, row_stride;
  const int32_t* row;   // null: there are no rows
  int32_t* slot_rows;   // (num_envs, slots): the row that each slot belongs to
  int32_t* slots_used;  // (num_envs,)
  int32_t slots;        // 0: a plain copy
  int32_t active_only;
};

struct ww_launch {
  ww_context context;
  int32_t kernel_index;
  int32_t active_only;  // whether envs that are not active skip the kernel
  int32_t transition;
  int32_t num_copies;
  ww_copy copies[WW_MAX_COPIES];
};
static_assert(sizeof(ww_launch) == 736, "as many bytes as launches.py packs");
