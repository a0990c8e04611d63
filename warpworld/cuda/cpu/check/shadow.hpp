// Shadow memory: for every element of every array, who wrote and who read it last.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "../abi.hpp"
#include "findings.hpp"

namespace ww_check {

constexpr uint32_t from_the_start = 1;  // the interval of what was written before the first launch
constexpr unsigned most_regions = 1024;
constexpr long guard_before = 128, guard_behind = 1024;  // bytes around shared arrays, see ENV_SHARED

// An interval is what one block does between two barriers of the block; all blocks' intervals are counted through.
struct Access {
  uint32_t interval;  // 0: never
  uint32_t clock;     // of the thread, see Clocks
  uint32_t pc, site;  // site: the place in the kernel itself, where it calls what makes the access or makes it
  uint16_t thread;
  bool atomic;
  bool changed;  // a write of this interval changed the value
};

struct Cell {
  Access write, read, other_read;  // other_read: the last by another thread than `read`
  bool stale;                      // of an episode that is over
};
static_assert(sizeof(Cell) == 64, "checking/check_backend.py counts with CELL_BYTES");

struct Region : ww_region {
  Cell* cells;
  int index;
  unsigned slot;  // of shared memory: whose it is of the envs that share a block
};

// The arrays, sorted by address.
class Regions {
 public:
  Region* add(const ww_region& described) {
    if (count_ == most_regions) return nullptr;
    Region& region = all_[count_];
    static_cast<ww_region&>(region) = described;
    region.index = (int)count_;
    const uint64_t units = (described.bytes + described.unit - 1) / described.unit;
    region.cells = (Cell*)calloc(units, sizeof(Cell));
    if (!region.cells) return nullptr;
    if (described.written)
      for (uint64_t i = 0; i < units; i++) region.cells[i].write.interval = from_the_start;
    unsigned at = count_++;
    for (; at && sorted_[at - 1]->base > region.base; at--) sorted_[at] = sorted_[at - 1];
    sorted_[at] = &region;
    last_ = &region;
    return &region;
  }

  Region* find(const char* address) {
    if (holds(last_, address)) return last_;
    Region* below = at_or_below(address);
    if (!holds(below, address)) return nullptr;
    return last_ = below;
  }

  // The part of a shared array that is a slot's; null before that slot has come to it.
  Region* of_slot(const Region& array, unsigned slot) {
    Region* best = nullptr;  // functions may have arrays of one name
    for (unsigned i = 0; i < count_; i++)
      if (all_[i].kind == WW_SHARED && all_[i].slot == slot && !strcmp(all_[i].name, array.name))
        if (!best || distance(all_[i], array.base) < distance(*best, array.base)) best = &all_[i];
    return best;
  }

  // The region whose start or end is nearest to an address outside of all.
  Region* nearest(const char* address) {
    Region* best = nullptr;
    for (unsigned i = 0; i < count_; i++)
      if (!best || distance(*sorted_[i], address) < distance(*best, address)) best = sorted_[i];
    return best;
  }

  static long distance(const Region& region, const char* address) {
    return address < region.base ? region.base - address : address - (region.base + region.bytes) + 1;
  }

  Region* at(unsigned index) { return index < count_ ? &all_[index] : nullptr; }
  unsigned count() const { return count_; }

  void clear() {
    for (unsigned i = 0; i < count_; i++) free(all_[i].cells);
    count_ = 0;
    last_ = nullptr;
  }

 private:
  static bool holds(const Region* region, const char* address) {
    return region && address >= region->base && address < region->base + region->bytes;
  }

  Region* at_or_below(const char* address) {
    unsigned low = 0, high = count_;
    while (low < high) {
      const unsigned middle = (low + high) / 2;
      if (sorted_[middle]->base <= address)
        low = middle + 1;
      else
        high = middle;
    }
    return low ? sorted_[low - 1] : nullptr;
  }

  Region all_[most_regions];
  Region* sorted_[most_regions];
  Region* last_;
  unsigned count_;
};

// Which accesses of one warp's lanes are ordered by warp barriers: each lane counts its own stretches between them, and
// knows up to which stretch of each other lane it has met.
class Clocks {
 public:
  // False if there is no memory.
  bool allocate(unsigned threads) { return (met_ = (Row*)calloc(threads, sizeof(Row))) != nullptr; }
  void release() { free(met_); }

  void start(unsigned threads) {
    memset(met_, 0, sizeof *met_ * threads);
    for (unsigned t = 0; t < threads; t++) met_[t][t % WW_WARP_SIZE] = 1;
  }

  void meet(unsigned first, uint32_t lanes) {
    uint32_t joined[WW_WARP_SIZE] = {};
    for (unsigned i = 0; i < WW_WARP_SIZE; i++)
      for (unsigned j = 0; j < WW_WARP_SIZE && lanes >> i & 1; j++)
        if (met_[first + i][j] > joined[j]) joined[j] = met_[first + i][j];
    for (unsigned i = 0; i < WW_WARP_SIZE; i++) {
      if (!(lanes >> i & 1)) continue;
      memcpy(met_[first + i], joined, sizeof joined);
      met_[first + i][i]++;
    }
  }

  uint32_t own(unsigned thread) const { return met_[thread][thread % WW_WARP_SIZE]; }

  // Whether what `other` did at its count `clock` lies before what `thread` does now.
  bool ordered(unsigned thread, unsigned other, uint32_t clock) const {
    return thread / WW_WARP_SIZE == other / WW_WARP_SIZE && met_[thread][other % WW_WARP_SIZE] >= clock;
  }

 private:
  using Row = uint32_t[WW_WARP_SIZE];
  Row* met_;
};

// Where the module that this runtime is linked into lies.
struct Image {
  char *base, *end, *locals, *locals_end;  // locals: this thread's thread-local block, null before its first use

  void look() {
    Dl_info info;
    base = dladdr((void*)&visit, &info) ? (char*)info.dli_fbase : nullptr;
    dl_iterate_phdr(visit, this);
  }
  bool holds(const char* address) const { return address >= base && address < end; }
  bool holds_local(const char* address) const { return address >= locals && address < locals_end; }

 private:
  static int visit(dl_phdr_info* info, size_t, void* argument) {
    Image& image = *(Image*)argument;
    char *lowest = nullptr, *end = nullptr;
    uint64_t local_bytes = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
      const auto& header = info->dlpi_phdr[i];
      char* start = (char*)info->dlpi_addr + header.p_vaddr;
      if (header.p_type == PT_TLS) local_bytes = header.p_memsz;
      if (header.p_type != PT_LOAD) continue;
      if (!lowest || start < lowest) lowest = start;
      if (start + header.p_memsz > end) end = start + header.p_memsz;
    }
    if ((char*)&visit < lowest || (char*)&visit >= end) return 0;  // another library
    image.end = end;
    image.locals = (char*)info->dlpi_tls_data;
    image.locals_end = image.locals ? image.locals + local_bytes : nullptr;
    return 1;
  }
};

}  // namespace ww_check
