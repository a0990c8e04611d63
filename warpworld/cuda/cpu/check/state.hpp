// What the check runtime knows of one world, and how it keeps what it finds.
#pragma once

#include "shadow.hpp"

namespace ww_check {

constexpr unsigned most_findings = 1024, most_blocks = 1024, most_updates = 1u << 17;

// A write whose effect is seen at the next access, and the races it is in until then.
struct Pending {
  char* address;
  unsigned size;  // 0: there is none
  bool fresh;     // what was there before is not defined
  char before[16];
  Cell *first, *end;
  ww_finding races[4];
  unsigned num_races;
  ww_update* update;  // null if the write is none, or not remembered
};

// A random number that a thread has drawn.
struct Draw {
  uint32_t block_start, number, pc;
  uint16_t thread, stream;  // stream: whose numbers they are
};
constexpr uint32_t draws_per_thread = 64;  // remembered of a block, by hash; three quarters of them are used

// What is known of a thread of the running block.
struct Thread {
  bool inside;         // the author's kernel
  uint16_t turn;       // of the block's turns, this one's index: whose it is
  uint32_t depth;      // functions that it is in; 1: the kernel alone
  const void* last;    // where it returned to after its last access
  const void* caller;  // of the function that it entered last, while it is in it
  const void* call;    // by which it last left the kernel itself: where it returns to
  Draw repeated;       // the last number that it has drawn again
};

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
  bool watching, own_env_only, locals_known, speaks, allocates;
  uint32_t interval, launch_start, block_start, step;
  Thread* threads;
  unsigned num_threads;            // of the largest block: agents that take turns are threads of one, each
  const void* last;                // where the running thread returned to after its last access
  uint32_t start_of[most_blocks];  // the first interval of each block of this launch
  const char *stacks, *stacks_end;
  Draw* draws;
  uint32_t num_draws, draws_of_block, num_draws_of_block;
  ww_update* updates;  // by hash; null where accesses are not watched
  uint32_t num_updates;
  uint64_t* ran;  // for each byte of the image, the kernels that came to the basic block there; null as above

  // What grows with the threads of a block. False if there is no memory.
  bool allocate(unsigned most_threads) {
    num_threads = most_threads;
    num_draws = draws_per_thread * most_threads;
    threads = (Thread*)calloc(num_threads, sizeof(Thread));
    draws = (Draw*)calloc(num_draws, sizeof(Draw));
    return clocks.allocate(num_threads) && threads && draws;
  }
  void release() {
    regions.clear();
    clocks.release();
    free(threads);
    free(draws);
    free(updates);
    free(ran);
  }
};

static State* current;  // of the world that steps now
static bool busy;       // the runtime is working: its own copies are not a kernel's accesses

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

static unsigned slot_of(const State& s, unsigned thread) { return s.envs_per_warp ? thread / s.num_agents : 0; }

// The block of this launch, up to the one that runs, whose interval it is.
static unsigned block_of(const State& s, uint32_t interval) {
  unsigned block = blockIdx.x;
  while (block && (block >= most_blocks || s.start_of[block] > interval)) block--;
  return block;
}

// ---- findings ------------------------------------------------------------------------------------------------------
static bool alike(const ww_finding& a, const ww_finding& b) {
  return a.kind == b.kind && a.region == b.region && a.pc == b.pc && a.other_pc == b.other_pc && a.write == b.write &&
         a.other_write == b.other_write && a.barrier == b.barrier;
}

// Keeps one finding per kind and place, and prefers races in which the value changed.
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

}  // namespace ww_check
