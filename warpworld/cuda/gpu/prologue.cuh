// Comes first in every emitted kernel: the world's own work, and the state that the header's functions need. An env's
// lanes do the work of their env, so that only the block has to wait for it.
#pragma once

// ---- where an env stands in its episode ------------------------------------------------------------------------------
// Envs that take part are stepped, except those that have ended: the next step (WW_NEXT_STEP) or the caller
// (WW_DISABLED) resets them.
WW_FUNCTION void ww_begin_step(const ww_context& world, int env, bool active_only) {
  const bool takes_part = !active_only || world.active[env];
  const bool keeps_end = world.autoreset != WW_SAME_STEP && (world.terminated[env] || world.truncated[env]);
  const bool is_stepped = takes_part && !keeps_end;
  const bool is_reset = takes_part && keeps_end && world.autoreset == WW_NEXT_STEP;
  world.active[env] = is_stepped;
  if (world.autoreset == WW_NEXT_STEP) world.resetting[env] = is_reset;
  if (is_stepped) world.timestep[env]++;
  if (is_stepped || is_reset) {
    world.clock[env]++;
    world.terminated[env] = world.truncated[env] = false;
  }
}

WW_FUNCTION void ww_begin_reset(const ww_context& world, int env) {
  if (!world.active[env]) return;
  world.timestep[env] = 0;
  world.clock[env]++;
  world.terminated[env] = world.truncated[env] = false;
}

// The clock of an env advances once before each reset in every autoreset mode, so that its random numbers and its
// episodes are the same. With WW_NEXT_STEP it advanced when the step began.
WW_FUNCTION void ww_end_step(const ww_context& world, int env) {
  const bool same_step = world.autoreset == WW_SAME_STEP;
  const bool is_reset =
      same_step ? world.active[env] && (world.terminated[env] || world.truncated[env]) : world.resetting[env];
  world.active[env] = is_reset;
  if (is_reset) world.timestep[env] = 0;
  if (is_reset && same_step) world.clock[env]++;
}

WW_FUNCTION void ww_transit(const ww_launch& launch, int env) {
  if (launch.transition == WW_BEGIN_STEP) ww_begin_step(launch.context, env, false);
  if (launch.transition == WW_BEGIN_SOME) ww_begin_step(launch.context, env, true);
  if (launch.transition == WW_BEGIN_RESET) ww_begin_reset(launch.context, env);
  if (launch.transition == WW_END_STEP) ww_end_step(launch.context, env);
}

// ---- copies ----------------------------------------------------------------------------------------------------------
template <class Word>
WW_FUNCTION void ww_copy_words(char* target, const char* source, uint64_t bytes) {
  const uint32_t words = (uint32_t)(bytes / sizeof(Word));
  for (uint32_t i = lane(); i < words; i += num_lanes()) ((Word*)target)[i] = ((const Word*)source)[i];
}

WW_FUNCTION void ww_copy_bytes(char* target, const char* source, uint64_t bytes) {
  if (((uint64_t)target | (uint64_t)source | bytes) % sizeof(uint32_t) == 0)
    ww_copy_words<uint32_t>(target, source, bytes);
  else
    ww_copy_words<char>(target, source, bytes);
}

#if WW_ENVS_PER_WARP
// A plain copy of the envs of a block that small envs share, in words of four bytes: all its threads copy side by side.
WW_FUNCTION void ww_copy_block(const ww_context& world, const ww_copy& copy) {
  const uint32_t first = blockIdx.x * WW_SLOTS, left = world.num_envs - first, words = (uint32_t)(copy.bytes / 4);
  const uint64_t row = copy.row ? *copy.row * copy.row_stride : 0;
  const uint32_t count = (left < WW_SLOTS ? left : WW_SLOTS) * words;
  for (uint32_t i = threadIdx.x; i < count; i += WW_BLOCK) {
    const uint32_t env = first + i / words, word = i % words;
    if (copy.active_only && !world.active[env]) continue;
    ((uint32_t*)(copy.target + env * copy.target_stride + row))[word] =
        ((const uint32_t*)(copy.source + env * copy.source_stride))[word];
  }
}

WW_FUNCTION bool ww_has_words(const ww_copy& copy) {
  const uint64_t strides = copy.target_stride | copy.source_stride | (copy.row ? copy.row_stride : 0);
  return ((uint64_t)copy.target | (uint64_t)copy.source | copy.bytes | strides) % sizeof(uint32_t) == 0;
}
#endif

// The env's lanes copy side by side. A barrier follows, so that a copy may read what the one before it wrote.
WW_FUNCTION void ww_copy_own(const ww_context& world, const ww_copy& copy) {
#if WW_ENVS_PER_WARP
  if (!copy.slots && ww_has_words(copy)) {
    ww_copy_block(world, copy);
    __syncthreads();  // orders this copy before the next one, and the last before the kernel
    return;
  }
#endif
  const int env = ww_unclamped_env();
  bool copies = ww_has_agent() && env < world.num_envs && !(copy.active_only && !world.active[env]);
  uint64_t place = env;
  if (copy.slots && copies) {
    const int slot = copy.slots_used[env];
    copies = !world.terminated[env] && slot < copy.slots;
    place = (uint64_t)env * copy.slots + slot;
  }
  __syncthreads();  // orders the reading of slots_used before its advance
  if (copies) {
    const uint64_t row = copy.row && !copy.slots ? *copy.row : 0, stride = copy.slots ? copy.bytes : copy.target_stride;
    ww_copy_bytes(copy.target + place * stride + row * copy.row_stride,
                  copy.source + (uint64_t)env * copy.source_stride, copy.bytes);
    if (copy.slots && lane() == 0) {
      copy.slot_rows[place] = *copy.row;
      copy.slots_used[env]++;
    }
  }
  __syncthreads();  // orders this copy before the next one, and the last before the kernel
}

// ---- entering --------------------------------------------------------------------------------------------------------
WW_FUNCTION void ww_enter(const ww_launch& launch) {
  if (threadIdx.x == 0) {
    ww_shared_context = launch.context;
    ww_shared_kernel_index = launch.kernel_index;
  }
  if (ww_has_agent() && lane() == 0) {
    const int env = ww_unclamped_env();
    const bool is_env = env < launch.context.num_envs;
    if (is_env) ww_transit(launch, env);
    ww_takes_part[ww_slot()] = is_env && !(launch.active_only && !launch.context.active[env]);
  }
  __syncthreads();  // orders context, transition and participation before the copies and every word of the header
  for (int i = 0; i < launch.num_copies; ++i) ww_copy_own(launch.context, launch.copies[i]);
}
