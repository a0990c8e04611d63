// The hooks through which the check build observes a kernel; in other builds they expand to nothing. check/ defines
// them.
#pragma once

#include "abi.hpp"

#ifdef WW_CHECK

extern "C" {
// A block begins, with this many threads on the stacks of this launch.
void ww_check_block(const ww_launch* launch, unsigned threads);
// The thread whose turn is the i-th: agents may run in any order.
unsigned ww_check_turn(unsigned i);
// A thread begins the author's kernel, or has returned from it.
void ww_check_inside(bool inside);
// A thread has returned, while the rest of the block meets at a line of the author's.
void ww_check_returned(unsigned thread, int line);
// All threads of the block have met.
void ww_check_block_barrier(void);
// The threads first + i of the bits i of `lanes` have met, or have returned.
void ww_check_warp_barrier(unsigned first, uint32_t lanes);
// The thread updates memory by an atomic operation.
void ww_check_atomic(void* address, unsigned size);
// The thread draws a random number: the `number`-th word of a stream, which is the agent's, or 0xFFFF for all agents.
void ww_check_draw(uint32_t stream, uint32_t number);
// Whether the kernel's output is shown: a check runs several worlds through the same steps.
bool ww_check_speaks(void);
// An array that the threads of an env share; returns its values.
void* ww_check_shared(const char* name, void* values, unsigned item, unsigned count);
}
#define WW_CHECKED(call) call
#define WW_TURN(i) ww_check_turn(i)
#define WW_FLATTEN  // the enclosing function identifies a place in the author's file

#else

#define WW_CHECKED(call) ((void)0)
#define WW_TURN(i) (i)
#ifdef WW_DEBUG  // the kernel is to be a function that a debugger sees
#define WW_FLATTEN
#else
#define WW_FLATTEN __attribute__((flatten))
#endif

#endif
