// Plain updates of elements, by place, element and agent. Agents that update one element at one place lose an update
// where they meet, even if they have not met in any launch of this check.
#pragma once

#include "state.hpp"

namespace ww_check {

// The place of the thread's last read of an element in this block; 0 if there is none.
static uint32_t own_read(const State& s, const Cell& cell, unsigned thread) {
  const auto is_own = [&](const Access& read) { return read.interval >= s.block_start && read.thread == thread; };
  return is_own(cell.read) ? cell.read.pc : is_own(cell.other_read) ? cell.other_read.pc : 0;
}

static ww_update* update_slot(State& s, const ww_update& wanted) {
  uint64_t hash = (wanted.pc * 0x9E3779B97F4A7C15ull) ^ (wanted.offset + 1) * 0xC2B2AE3D27D4EB4Full ^
                  (uint64_t)(wanted.thread + 1) * 0x165667B19E3779F9ull ^ (uint64_t)(wanted.region + 1) << 40;
  hash ^= hash >> 29;
  for (unsigned at = (unsigned)hash % most_updates;; at = (at + 1) % most_updates) {
    ww_update& update = s.updates[at];
    const bool known = update.pc == wanted.pc && update.offset == wanted.offset && update.region == wanted.region &&
                       update.thread == wanted.thread && update.kernel_index == wanted.kernel_index;
    if (known) return &update;
    if (update.pc) continue;
    if (s.num_updates >= most_updates / 4 * 3) return nullptr;
    s.num_updates++;
    update = wanted;
    return &update;
  }
}

// The entry of a write, if it is an update: where all envs share the array, agents of other envs are other agents.
static ww_update* update_of(State& s, const Region& region, const Cell& cell, const Lane& lane, uint64_t offset,
                            const Access& now) {
  if (!s.updates || region.kind == WW_SHARED) return nullptr;
  ww_update wanted = {};
  wanted.read_pc = own_read(s, cell, now.thread);
  if (!wanted.read_pc) return nullptr;
  wanted.pc = now.pc;
  wanted.site = now.site;
  wanted.offset = region.env_bytes ? offset % region.env_bytes : offset;
  wanted.region = region.index;
  wanted.kernel_index = ww_this_thread.kernel_index;
  wanted.thread = region.env_bytes ? lane.agent : lane.env * s.num_agents + lane.agent;
  wanted.env = lane.env;
  wanted.step = s.step;
  wanted.varies = -1;  // has no value yet
  ww_update* update = update_slot(s, wanted);
  const bool again = cell.write.interval >= s.block_start && cell.write.thread != now.thread;
  if (update && again && cell.write.pc == now.pc) update->ordered = 1;
  return update;
}

// The write has taken effect.
static void finish_update(ww_update& update, const char* address, unsigned size) {
  uint64_t value = 0;
  memcpy(&value, address, size < sizeof value ? size : sizeof value);
  if (update.varies < 0)
    update.value = value, update.varies = 0;
  else if (value != update.value)
    update.varies = 1;
}

}  // namespace ww_check
