// Random numbers that one thread has drawn in one block: numbers that it draws a second time are those of two
// generators that began alike.
#pragma once

#include "access.hpp"

namespace ww_check {

constexpr uint32_t all_agents = 0xFFFF;  // the stream of Random::env()

static Draw& draw_slot(State& s, uint16_t thread, uint32_t stream, uint32_t number) {
  uint32_t at = (thread * 0x9E3779B9u ^ stream * 0x85EBCA6Bu ^ number * 0xC2B2AE35u) % s.num_draws;
  for (;; at = (at + 1) % s.num_draws) {
    Draw& draw = s.draws[at];
    const bool free = draw.block_start != s.block_start;
    if (free || (draw.thread == thread && draw.stream == stream && draw.number == number)) return draw;
  }
}

// Of several numbers in a row that are drawn again, the first is reported.
static bool goes_on(const Draw& before, const Draw& now) {
  return before.block_start == now.block_start && before.stream == now.stream && before.number + 1 == now.number;
}

static void note_draw(State& s, uint32_t stream, uint32_t number, uint32_t pc) {
  const uint16_t thread = (uint16_t)threadIdx.x;
  const Draw now = {s.block_start, number, pc, thread, (uint16_t)stream};
  Draw& known = draw_slot(s, thread, stream, number);
  if (known.block_start != s.block_start) {
    if (s.draws_of_block != s.block_start) s.draws_of_block = s.block_start, s.num_draws_of_block = 0;
    if (s.num_draws_of_block < s.num_draws / 4 * 3) s.num_draws_of_block++, known = now;
    return;
  }
  Draw& last = s.threads[thread].repeated;
  if (!goes_on(last, now)) {
    ww_finding found = described(s, WW_REPEATED, nullptr, nullptr, 0, false, pc);
    found.other_pc = known.pc;
    found.same = stream == all_agents && known.pc == pc;
    keep(s, found);
  }
  known = last = now;
}

}  // namespace ww_check
