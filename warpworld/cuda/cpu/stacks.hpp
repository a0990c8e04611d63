// The stacks that a worker's fibers run on.
#pragma once

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL  // Linux 6.13
#define MADV_GUARD_INSTALL 102
#endif

namespace ww {

// Compilers for aarch64 let a frame of just under 64 KiB go unprobed, so a guard is larger than that. With its stack it
// takes an odd number of pages, so that the hot ends of the stacks spread over the whole TLB.
constexpr size_t stack_bytes = 64u << 10;
static const size_t guard_bytes = (64u << 10) + (size_t)sysconf(_SC_PAGESIZE), stack_stride = stack_bytes + guard_bytes;

// A guard below each stack: an overflow faults instead of running into the neighbour.
class Stacks {
 public:
  // False if there is no memory.
  bool grow(unsigned count) {
    if (count <= count_) return true;
    void* memory = mmap(nullptr, count * stack_stride, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    if (base_) munmap(base_, count_ * stack_stride);
    base_ = (char*)memory;
    count_ = count;
    for (unsigned i = 0; i < count; i++) install_guard(base_ + i * stack_stride);
    return true;
  }

  char* base() const { return base_; }
  bool contains(const char* address) const { return address >= base_ && address < base_ + count_ * stack_stride; }
  bool guards(const char* address) const {
    return contains(address) && (size_t)(address - base_) % stack_stride < guard_bytes;
  }

 private:
  // mprotect splits a mapping in two, and a process has 65530 mappings by default. If there are very many stacks, the
  // last ones get the guards that Linux offers since 6.13, which need no mapping; on older kernels they get none.
  static void install_guard(char* guard) {
    static unsigned mappings_left = 24000;
    if (mappings_left == 0) {
      madvise(guard, guard_bytes, MADV_GUARD_INSTALL);
      return;
    }
    if (mprotect(guard, guard_bytes, PROT_NONE) == 0) mappings_left -= 2;
  }

  char* base_;
  unsigned count_;
};

}  // namespace ww
