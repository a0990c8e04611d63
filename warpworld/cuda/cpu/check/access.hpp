// What is checked at each memory access: where it lies, who owns it, and whether it conflicts with another agent's.
#pragma once

#include "updates.hpp"

namespace ww_check {

// ---- writes and what they changed ----------------------------------------------------------------------------------
static void settle(State& s) {
  Pending& pending = s.pending;
  if (!pending.size) return;
  const bool same = !pending.fresh && pending.size <= sizeof pending.before &&
                    memcmp(pending.address, pending.before, pending.size) == 0;
  for (Cell* cell = pending.first; cell != pending.end && !same; cell++) cell->write.changed = true;
  if (pending.update) finish_update(*pending.update, pending.address, pending.size);
  for (unsigned i = 0; i < pending.num_races; i++) {
    pending.races[i].same = same;
    keep(s, pending.races[i]);
  }
  pending.size = pending.num_races = 0;
  pending.update = nullptr;
}

static void wait_for_effect(State& s, char* address, unsigned size, bool fresh, Cell* first, Cell* end) {
  s.pending.address = address;
  s.pending.size = size;
  s.pending.fresh = fresh;
  s.pending.first = first;
  s.pending.end = end;
  if (size <= sizeof s.pending.before) memcpy(s.pending.before, address, size);
}

// ---- races ---------------------------------------------------------------------------------------------------------
static bool collides(const State& s, const Region& region, const Access& before, const Access& now) {
  if (before.interval < s.launch_start || (before.atomic && now.atomic)) return false;
  if (before.interval < s.block_start) return region.kind != WW_SHARED;
  if (before.interval != now.interval || before.thread == now.thread) return false;
  return !s.clocks.ordered(now.thread, before.thread, before.clock);
}

static void race(State& s, const Region& region, const char* address, unsigned size, bool write, const Access& now,
                 bool other_write, const Access& other) {
  const Lane lane = lane_of(s, block_of(s, other.interval), other.thread);
  ww_finding found = described(s, WW_RACE, &region, address, size, write, now.pc);
  found.other_env = lane.env;
  found.other_thread = lane.agent;
  found.other_write = other_write;
  found.atomic = now.atomic;
  found.other_atomic = other.atomic;
  found.other_pc = other.pc;
  found.site = now.site;
  found.other_site = other.site;
  found.same = !other.changed;
  if (!write)
    keep(s, found);
  else if (s.pending.num_races < 4)
    s.pending.races[s.pending.num_races++] = found;
}

static void note_write(State& s, const Region& region, Cell& cell, const char* address, unsigned size, Access now) {
  if (collides(s, region, cell.write, now)) race(s, region, address, size, true, now, true, cell.write);
  const bool by_another = cell.read.thread != now.thread || cell.read.interval < s.block_start;
  const Access& reader = by_another ? cell.read : cell.other_read;
  if (collides(s, region, reader, now)) race(s, region, address, size, true, now, false, reader);
  now.changed = cell.write.interval == now.interval && cell.write.changed;
  cell.write = now;
  cell.stale = false;
}

static void note_read(State& s, const Region& region, Cell& cell, const char* address, unsigned size, Access now) {
  if (collides(s, region, cell.write, now)) race(s, region, address, size, false, now, true, cell.write);
  if (cell.read.thread != now.thread || cell.read.interval < s.block_start) cell.other_read = cell.read;
  cell.read = now;
}

// ---- an access -----------------------------------------------------------------------------------------------------
static bool within(const void* start, size_t bytes, const char* address) {
  return address >= (const char*)start && address < (const char*)start + bytes;
}

// Memory that is no author's array: the scheduler's, the launch's, constants of the module, other libraries' data.
static bool is_foreign(State& s, const char* address) {
  if (within(ww_this_thread.scheduler, WW_SCHEDULER_BYTES, address)) return true;
  if (within(&ww_this_thread, sizeof ww_this_thread, address)) return true;
  const uint3* const indices[] = {&threadIdx, &blockIdx, &blockDim, &gridDim};
  for (const uint3* index : indices)
    if (within(index, sizeof *index, address)) return true;
  if (within(ww_this_thread.context, sizeof(ww_context), address)) return true;
  if (address >= s.harmless && address < s.harmless_end) return false;
  if (s.image.holds_local(address)) return false;
  if (s.image.holds(address)) {
    const Region* near = s.regions.nearest(address);
    const bool below = near && address < near->base;
    return !near || near->kind != WW_SHARED ||
           Regions::distance(*near, address) > (below ? guard_before : guard_behind);
  }
  Dl_info info;
  return dladdr((void*)address, &info) != 0;
}

// The thread-local block is there from the first access on.
static bool found_locals(State& s) {
  if (s.locals_known) return false;
  s.image.look();
  if (!s.image.locals) return false;
  s.locals_known = true;
  for (unsigned i = 0; i < s.num_variables; i++) {
    const ww_variable& variable = s.variables[i];
    if (variable.thread_local_storage)
      s.regions.add({variable.name, s.image.locals + variable.offset, variable.bytes, 0, 1, 0, WW_SHARED, 0});
  }
  return true;
}

static void outside(State& s, const char* address, unsigned size, bool write, uint32_t pc) {
  const bool near = (address >= s.harmless && address < s.harmless_end) || s.image.holds(address) ||
                    s.image.holds_local(address);
  if (!near && s.allocates) return;
  const Region* region = near ? s.regions.nearest(address) : nullptr;  // which array a wild address was meant for
  if (region && region->kind == WW_SHARED)                             // unknown
    if (const Region* own = s.regions.of_slot(*region, slot_of(s, threadIdx.x))) region = own;
  keep(s, described(s, WW_OUT_OF_BOUNDS, region, address, size, write, pc));
  if (near) return;
  Busy::set(false);
  ww_fail(WW_CHECK_STOPPED, nullptr, 0, "an access far out of bounds");
}

// A read of what should not be read; an atomic access is one too.
static ww_finding read(const State& s, int kind, const Region* region, const char* address, unsigned size, bool atomic,
                       uint32_t pc) {
  ww_finding found = described(s, kind, region, address, size, atomic, pc);
  found.atomic = atomic;
  return found;
}

static bool never_written(const State& s, const Region& region, const Cell* first, const Cell* end) {
  if (region.kind == WW_VARIABLE) return false;
  const uint32_t since = region.kind == WW_SHARED ? s.block_start : region.scratch ? s.launch_start : from_the_start;
  for (const Cell* cell = first; cell != end; cell++)  // a part may be padding
    if (cell->write.interval >= since) return false;
  return true;
}

// The place in the module that made the access: structs are copied by functions of the compiler's own.
static uint32_t place_of(const State& s, const void* return_address) {
  const uint32_t pc = (uint32_t)((const char*)return_address - 1 - s.image.base);
  for (unsigned i = 0; i < s.num_assignments; i++)
    if (pc - s.assignments[i].offset < s.assignments[i].bytes && s.threads[threadIdx.x].caller)
      return (uint32_t)((const char*)s.threads[threadIdx.x].caller - 1 - s.image.base);
  return pc;
}

// The place in the kernel itself from which the thread came to `pc`.
static uint32_t site_of(const State& s, uint32_t pc) {
  const Thread& thread = s.threads[threadIdx.x];
  return thread.depth > 1 ? (uint32_t)((const char*)thread.call - 1 - s.image.base) : pc;
}

static void access(char* address, unsigned size, bool write, bool atomic, const void* return_address) {
  State* state = current;
  const unsigned thread = threadIdx.x;
  if (busy || !state || !state->watching || !state->threads[thread].inside || !size) return;
  state->last = state->threads[thread].last = return_address;
  if (address >= state->stacks && address < state->stacks_end) return;
  const Busy at_work;
  State& s = *state;
  settle(s);
  Region* region = s.regions.find(address);
  if (!region && found_locals(s)) region = s.regions.find(address);
  const uint32_t pc = place_of(s, return_address);
  if (!region) {
    if (!is_foreign(s, address)) outside(s, address, size, write, pc);
    return;
  }
  const Lane lane = lane_of(s, blockIdx.x, thread);
  if (!lane.active) {
    if (write) keep(s, described(s, WW_UNGUARDED, region, address, size, true, pc));
    return;
  }
  const uint64_t offset = (uint64_t)(address - region->base);
  const bool is_anothers = region->kind == WW_SHARED && region->slot != slot_of(s, thread);
  if (is_anothers || offset + size > region->bytes) return outside(s, address, size, write, pc);
  if (region->env_bytes && s.own_env_only && offset / region->env_bytes != lane.env) {
    ww_finding found = described(s, WW_OTHER_ENV, region, address, size, write, pc);
    found.other_env = (uint32_t)(offset / region->env_bytes);
    return keep(s, found);
  }
  if (write && region->read_only) return keep(s, described(s, WW_READ_ONLY, region, address, size, true, pc));
  Cell *first = region->cells + offset / region->unit, *end = region->cells + (offset + size - 1) / region->unit + 1;
  const bool unwritten = (!write || atomic || region->kind == WW_SHARED) && never_written(s, *region, first, end);
  if ((!write || atomic) && unwritten) keep(s, read(s, WW_UNWRITTEN, region, address, size, atomic, pc));
  if (!write || atomic)
    for (const Cell* cell = first; cell != end; cell++)
      if (cell->stale) keep(s, read(s, WW_STALE, region, address, size, atomic, pc));
  const Access now = {s.interval, s.clocks.own(thread), pc, site_of(s, pc), (uint16_t)thread, atomic, false};
  ww_update* update = write && !atomic ? update_of(s, *region, *first, lane, offset, now) : nullptr;
  for (Cell* cell = first; cell != end; cell++)
    if (write)
      note_write(s, *region, *cell, address, size, now);
    else
      note_read(s, *region, *cell, address, size, now);
  if (write) wait_for_effect(s, address, size, unwritten, first, end);
  s.pending.update = update;
}

}  // namespace ww_check
