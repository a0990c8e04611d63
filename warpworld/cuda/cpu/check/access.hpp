// What is done at each access of memory: where it lies, whom it belongs to, and whether it meets another agent's.
#pragma once

#include "shadow.hpp"

namespace ww_check {

constexpr unsigned most_findings = 1024;

// A write whose effect is seen at the next access, and the races it is in until then.
struct Pending {
  char* address;
  unsigned size;  // 0: there is none
  char before[16];
  Cell *first, *end;
  ww_finding races[4];
  unsigned num_races;
};

// A random number that a thread has drawn.
struct Draw {
  uint32_t block_start, number, pc;
  uint16_t thread, stream;  // stream: whose numbers they are
};
constexpr uint32_t num_draws = 1 << 16;  // remembered of a block, by hash; three quarters of it are used

struct State {
  Regions regions;
  Clocks clocks;
  Image image;
  Pending pending;
  ww_finding findings[most_findings];
  unsigned num_findings;
  const ww_variable* variables;
  const ww_assignment* assignments;
  unsigned num_variables, num_assignments, num_agents, envs_per_warp, order;
  char *harmless, *harmless_end;
  bool watching, own_env_only, locals_known, speaks;
  uint32_t interval, launch_start, block_start, step;
  bool inside[WW_MAX_THREADS];
  const void* last;  // what the thread that runs has come back to from its last access
  const void* last_of[WW_MAX_THREADS];  // likewise, of each thread of the block
  const void* caller[WW_MAX_THREADS];  // of the function that a thread entered last, while it is in it
  uint16_t turn[WW_MAX_THREADS];
  const char *stacks, *stacks_end;
  Draw draws[num_draws], repeated[WW_MAX_THREADS];  // repeated: the last that a thread has drawn again
  uint32_t draws_of_block, num_draws_of_block;
};

static State* current;  // of the world that steps now
static bool busy;       // the runtime is at work: what it copies itself is no kernel's access

struct Busy {
  Busy() { set(true); }
  ~Busy() { set(false); }
  static void set(bool now) {
    __asm__ volatile("" ::: "memory");  // copies of structs are calls of memcpy, of which a compiler thinks that it
    busy = now;                         // reads no variable
    __asm__ volatile("" ::: "memory");
  }
};

struct Lane {
  unsigned env, agent;
  bool active;
};

// Which env and agent a thread of the running block works for.
static Lane lane_of(const State& s, unsigned block, unsigned thread) {
  const ww_context& world = *ww_this_thread.context;
  if (!s.envs_per_warp) return {block, thread, world.active[block]};
  const unsigned slot = thread / s.num_agents, env = block * s.envs_per_warp + slot;
  const bool exists = slot < s.envs_per_warp && env < (unsigned)world.num_envs;
  return {exists ? env : world.num_envs - 1, thread % s.num_agents, exists && world.active[env]};
}

// ---- findings ------------------------------------------------------------------------------------------------------
static bool alike(const ww_finding& a, const ww_finding& b) {
  return a.kind == b.kind && a.region == b.region && a.pc == b.pc && a.other_pc == b.other_pc && a.write == b.write &&
         a.other_write == b.other_write && a.barrier == b.barrier;
}

// Keeps one finding of each kind a place; of races rather one in which the value changed.
static void keep(State& s, const ww_finding& found) {
  for (unsigned i = 0; i < s.num_findings; i++) {
    ww_finding& known = s.findings[i];
    if (!alike(known, found)) continue;
    const uint64_t count = known.count + 1;
    if (known.same && !found.same) known = found;
    known.count = count;
    return;
  }
  if (s.num_findings < most_findings) s.findings[s.num_findings++] = found;
}

static ww_finding described(const State& s, int kind, const Region* region, const char* address, unsigned size,
                            bool write, uint32_t pc) {
  const Lane lane = lane_of(s, blockIdx.x, threadIdx.x);
  ww_finding found = {};
  found.kind = kind;
  found.region = region ? region->index : -1;
  found.kernel_index = ww_this_thread.kernel_index;
  found.env = found.other_env = lane.env;
  found.thread = found.other_thread = lane.agent;
  found.write = write;
  found.size = size;
  found.step = s.step;
  found.offset = region ? address - region->base : 0;
  found.pc = pc;
  found.count = 1;
  return found;
}

// ---- writes and what they changed ----------------------------------------------------------------------------------
static void settle(State& s) {
  Pending& pending = s.pending;
  if (!pending.size) return;
  const bool same = pending.size <= sizeof pending.before && memcmp(pending.address, pending.before, pending.size) == 0;
  for (Cell* cell = pending.first; cell != pending.end && !same; cell++) cell->write.changed = true;
  for (unsigned i = 0; i < pending.num_races; i++) {
    pending.races[i].same = same;
    keep(s, pending.races[i]);
  }
  pending.size = pending.num_races = 0;
}

static void wait_for_effect(State& s, char* address, unsigned size, Cell* first, Cell* end) {
  s.pending.address = address;
  s.pending.size = size;
  s.pending.first = first;
  s.pending.end = end;
  if (size <= sizeof s.pending.before) memcpy(s.pending.before, address, size);
}

// ---- races ---------------------------------------------------------------------------------------------------------
static bool collides(const State& s, const Region& region, const Access& before, const Access& now) {
  if (before.interval < s.launch_start || (before.atomic && now.atomic)) return false;
  if (before.block != now.block) return region.kind != WW_SHARED;
  if (before.interval != now.interval || before.thread == now.thread) return false;
  return !s.clocks.ordered(now.thread, before.thread, before.clock);
}

static void race(State& s, const Region& region, const char* address, unsigned size, bool write, const Access& now,
                 bool other_write, const Access& other) {
  const Lane lane = lane_of(s, other.block, other.thread);
  ww_finding found = described(s, WW_RACE, &region, address, size, write, now.pc);
  found.other_env = lane.env;
  found.other_thread = lane.agent;
  found.other_write = other_write;
  found.atomic = now.atomic;
  found.other_atomic = other.atomic;
  found.other_pc = other.pc;
  found.same = !other.changed;
  if (!write)
    keep(s, found);
  else if (s.pending.num_races < 4)
    s.pending.races[s.pending.num_races++] = found;
}

static void note_write(State& s, const Region& region, Cell& cell, const char* address, unsigned size, Access now) {
  if (collides(s, region, cell.write, now)) race(s, region, address, size, true, now, true, cell.write);
  const Access& reader = cell.read.thread != now.thread || cell.read.block != now.block ? cell.read : cell.other_read;
  if (collides(s, region, reader, now)) race(s, region, address, size, true, now, false, reader);
  now.changed = cell.write.interval == now.interval && cell.write.changed;
  cell.write = now;
  cell.stale = false;
}

static void note_read(State& s, const Region& region, Cell& cell, const char* address, unsigned size, Access now) {
  if (collides(s, region, cell.write, now)) race(s, region, address, size, false, now, true, cell.write);
  if (cell.read.thread != now.thread || cell.read.block != now.block) cell.other_read = cell.read;
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
  const ww_index* const indices[] = {&threadIdx, &blockIdx, &blockDim, &gridDim};
  for (const ww_index* index : indices)
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
  const Region* region = near ? s.regions.nearest(address) : nullptr;  // which array a wild address was meant for
  keep(s, described(s, WW_OUT_OF_BOUNDS, region, address, size, write, pc));  // nobody can tell
  if (near) return;
  Busy::set(false);
  ww_fail(WW_CHECK_STOPPED, nullptr, 0, "an access far out of bounds");
}

static bool never_written(const State& s, const Region& region, const Cell* first, const Cell* end) {
  if (region.kind == WW_VARIABLE) return false;
  const uint32_t since = region.kind == WW_SHARED ? s.block_start : from_the_start;
  for (const Cell* cell = first; cell != end; cell++)  // a part may be padding
    if (cell->write.interval >= since) return false;
  return true;
}

// The place in the module of whoever wrote the access: structs are copied by functions of the compiler's own.
static uint32_t place_of(const State& s, const void* return_address) {
  const uint32_t pc = (uint32_t)((const char*)return_address - 1 - s.image.base);
  for (unsigned i = 0; i < s.num_assignments; i++)
    if (pc - s.assignments[i].offset < s.assignments[i].bytes && s.caller[threadIdx.x])
      return (uint32_t)((const char*)s.caller[threadIdx.x] - 1 - s.image.base);
  return pc;
}

static void access(char* address, unsigned size, bool write, bool atomic, const void* return_address) {
  State* state = current;
  const unsigned thread = threadIdx.x;
  if (busy || !state || !state->watching || thread >= WW_MAX_THREADS || !state->inside[thread] || !size) return;
  state->last = state->last_of[thread] = return_address;
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
  if (offset + size > region->bytes) return outside(s, address, size, write, pc);
  if (region->env_bytes && s.own_env_only && offset / region->env_bytes != lane.env) {
    ww_finding found = described(s, WW_OTHER_ENV, region, address, size, write, pc);
    found.other_env = (uint32_t)(offset / region->env_bytes);
    return keep(s, found);
  }
  if (write && region->read_only) return keep(s, described(s, WW_READ_ONLY, region, address, size, true, pc));
  Cell *first = region->cells + offset / region->unit, *end = region->cells + (offset + size - 1) / region->unit + 1;
  if ((!write || atomic) && never_written(s, *region, first, end))
    keep(s, described(s, WW_UNWRITTEN, region, address, size, write, pc));
  if (!write || atomic)
    for (const Cell* cell = first; cell != end; cell++)
      if (cell->stale) keep(s, described(s, WW_STALE, region, address, size, write, pc));
  const Access now = {s.interval, s.clocks.own(thread), pc, blockIdx.x, (uint16_t)thread, atomic, false};
  for (Cell* cell = first; cell != end; cell++)
    if (write)
      note_write(s, *region, *cell, address, size, now);
    else
      note_read(s, *region, *cell, address, size, now);
  if (write) wait_for_effect(s, address, size, first, end);
}

}  // namespace ww_check
