// The check runtime: linked into every module that is built for a check, compiled once per compiler.

#include "../checks.hpp"
#include "draws.hpp"
#include "undefined.hpp"

using ww_check::current;
using ww_check::State;

// ---- from the scheduler and the header's words (../checks.hpp) -----------------------------------------------------
extern "C" {

static uint32_t mixed(uint32_t x) {
  x = (x ^ x >> 16) * 0x7FEB352Du;
  x = (x ^ x >> 15) * 0x846CA68Bu;
  return x ^ x >> 16;
}

static void take_turns(State& s, unsigned threads) {
  for (unsigned i = 0; i < threads; i++) s.threads[i].turn = (uint16_t)(s.order == 1 ? threads - 1 - i : i);
  if (s.order < 2) return;
  for (unsigned i = threads; i > 1; i--) {
    const unsigned j = mixed(s.interval * 1031u + i) % i;
    const uint16_t other = s.threads[j].turn;
    s.threads[j].turn = s.threads[i - 1].turn;
    s.threads[i - 1].turn = other;
  }
}

__attribute__((visibility("hidden"))) void ww_check_block(const ww_launch* launch, unsigned threads) {
  if (!current) return;
  const ww_check::Busy at_work;
  State& s = *current;
  s.block_start = ++s.interval;
  if (blockIdx.x < ww_check::most_blocks) s.start_of[blockIdx.x] = s.block_start;
  s.stacks = launch->stacks;
  s.stacks_end = launch->stacks + launch->threads * launch->stack_stride;
  s.clocks.start(threads);
  for (unsigned i = 0; i < threads; i++) s.threads[i].inside = false, s.threads[i].last = nullptr;
  take_turns(s, threads);
}

__attribute__((visibility("hidden"))) unsigned ww_check_turn(unsigned i) { return current ? current->threads[i].turn : i; }

__attribute__((visibility("hidden"))) void ww_check_inside(bool inside) {
  if (!current) return;
  current->threads[threadIdx.x].inside = inside;
  current->threads[threadIdx.x].depth = 0;
  current->last = nullptr;
}

__attribute__((visibility("hidden"))) void ww_check_returned(unsigned thread, int line) {
  if (!current || !current->watching || !current->threads[thread].last) return;
  const ww_check::Busy at_work;
  State& s = *current;
  const ww_check::Lane lane = ww_check::lane_of(s, blockIdx.x, thread);
  if (!lane.active) return;
  ww_finding found = ww_check::described(s, WW_PASSED_BY, nullptr, nullptr, 0, false, 0);
  found.thread = found.other_thread = lane.agent;
  found.pc = (uint32_t)((const char*)s.threads[thread].last - 1 - s.image.base);
  found.barrier = line;
  ww_check::keep(s, found);
}

__attribute__((visibility("hidden"))) void ww_check_block_barrier() {
  if (current) current->interval++;
}

__attribute__((visibility("hidden"))) void ww_check_warp_barrier(unsigned first, uint32_t lanes) {
  const ww_check::Busy at_work;
  if (current) current->clocks.meet(first, lanes);
}

__attribute__((visibility("hidden"))) void ww_check_atomic(void* address, unsigned size) {
  ww_check::access((char*)address, size, true, true, __builtin_return_address(0));
}

__attribute__((visibility("hidden"))) void ww_check_draw(uint32_t stream, uint32_t number) {
  if (!current || !current->watching || !current->threads[threadIdx.x].inside) return;
  const ww_check::Busy at_work;
  if (ww_check::lane_of(*current, blockIdx.x, threadIdx.x).active)
    ww_check::note_draw(*current, stream, number, ww_check::place_of(*current, __builtin_return_address(0)));
}

__attribute__((visibility("hidden"))) bool ww_check_speaks() { return !current || current->speaks; }

__attribute__((visibility("hidden"))) void* ww_check_shared(const char* name, void* values, unsigned item,
                                                            unsigned count) {
  const ww_check::Busy at_work;
  if (!current || current->regions.find((char*)values)) return values;
  ww_check::Region* region =
      current->regions.add({name, (char*)values, (uint64_t)item * count, 0, 1, item, WW_SHARED, 0});
  if (region) region->slot = ww_check::slot_of(*current, threadIdx.x);
  return values;
}

// ---- for Python ----------------------------------------------------------------------------------------------------
#define WW_EXPORT __attribute__((visibility("default")))

// What is known of one world. Null if there is no memory.
WW_EXPORT State* ww_check_open(const ww_check_settings* settings) {
  State* s = (State*)calloc(1, sizeof(State));
  if (!s) return nullptr;
  s->interval = ww_check::from_the_start;
  s->image.look();
  s->variables = settings->variables;
  s->num_variables = settings->num_variables;
  s->assignments = settings->assignments;
  s->num_assignments = settings->num_assignments;
  s->num_agents = settings->num_agents;
  s->envs_per_warp = settings->envs_per_warp;
  s->order = settings->order;
  s->harmless = settings->harmless;
  s->speaks = settings->speaks;
  s->allocates = settings->allocates;
  s->harmless_end = settings->harmless_end;
  s->locals_known = true;  // there are none to look for, which is slow
  for (unsigned i = 0; i < settings->num_variables; i++) s->locals_known &= !settings->variables[i].thread_local_storage;
  bool fits = s->allocate(settings->num_agents > WW_MAX_THREADS ? settings->num_agents : WW_MAX_THREADS);
  for (unsigned i = 0; i < settings->num_regions; i++) fits = s->regions.add(settings->regions[i]) && fits;
  for (unsigned i = 0; i < settings->num_variables; i++) {
    const ww_variable& v = settings->variables[i];
    if (!v.thread_local_storage)
      fits = s->regions.add({v.name, s->image.base + v.offset, v.bytes, 0, 1, 0, WW_VARIABLE, 1}) && fits;
  }
  if (settings->watching) {
    s->updates = (ww_update*)calloc(ww_check::most_updates, sizeof(ww_update));
    s->ran = (uint64_t*)calloc((size_t)(s->image.end - s->image.base), sizeof(uint64_t));
    fits = fits && s->updates && s->ran;
  }
  if (fits) return s;
  s->release();
  free(s);
  return nullptr;
}

WW_EXPORT void ww_check_close(State* s) {
  if (current == s) current = nullptr;
  s->release();
  free(s);
}

// The place of the last access of the thread that ran when a launch was ended; 0 if it made none.
WW_EXPORT uint64_t ww_check_last(State* s) { return s->last ? ww_check::place_of(*s, s->last) : 0; }

// The launches that follow are this world's.
WW_EXPORT void ww_check_begin(State* s, int watching, int own_env_only, unsigned step) {
  current = s;
  threadIdx.x = 0;  // what another world's kernel has left may be no thread of this one
  s->watching = watching;
  s->own_env_only = own_env_only;
  s->step = step;
  s->launch_start = ++s->interval;
}

WW_EXPORT void ww_check_end(State* s) {
  const ww_check::Busy at_work;
  if (s->watching) ww_check::settle(*s);
  current = nullptr;
}

WW_EXPORT unsigned ww_check_findings(State* s, const ww_finding** findings) {
  *findings = s->findings;
  return s->num_findings;
}

// All plain updates, most of whose entries are free.
WW_EXPORT unsigned ww_check_updates(State* s, const ww_update** updates) {
  *updates = s->updates;
  return s->updates ? ww_check::most_updates : 0;
}

// For each byte of the image, the kernels (bit i: those whose number is i modulo 64) that came to a block of code there.
WW_EXPORT uint64_t ww_check_ran(State* s, const uint64_t** ran) {
  *ran = s->ran;
  return s->ran ? (uint64_t)(s->image.end - s->image.base) : 0;
}

WW_EXPORT const ww_region* ww_check_region(State* s, unsigned index) { return s->regions.at(index); }

// A moment, to ask later what has been written since.
WW_EXPORT uint32_t ww_check_now(State* s) { return ++s->interval; }

// Bytes of a region that were written before a moment, but not since, belong to an episode that is over.
// Returns the first byte that has not been written since; -1 if all of the part was. `kernels`: of those alone that a
// kernel wrote before.
WW_EXPORT int64_t ww_check_reset(State* s, unsigned index, uint64_t offset, uint64_t bytes, uint32_t since,
                                 int kernels) {
  const ww_check::Region& region = *s->regions.at(index);
  int64_t first = -1;
  for (uint64_t unit = offset / region.unit; unit * region.unit < offset + bytes; unit++) {
    ww_check::Cell& cell = region.cells[unit];
    cell.stale = cell.write.interval && cell.write.interval < since;
    const bool counts = !kernels || cell.write.interval > ww_check::from_the_start;
    if (first < 0 && counts && cell.write.interval < since) first = (int64_t)(unit * region.unit);
  }
  return first;
}

// The place that read a byte of a region last, in the launch that ended last; 0 if none did.
WW_EXPORT uint64_t ww_check_reader(State* s, unsigned index, uint64_t offset) {
  const ww_check::Region& region = *s->regions.at(index);
  const ww_check::Access& read = region.cells[offset / region.unit].read;
  return read.interval >= s->launch_start ? read.pc : 0;
}

// The place that wrote a byte of a region last; 0 if no kernel did.
WW_EXPORT uint64_t ww_check_writer(State* s, unsigned index, uint64_t offset) {
  const ww_check::Region& region = *s->regions.at(index);
  return region.cells[offset / region.unit].write.pc;
}
}
