// Who drives where several robots want to: the rules of rware's graph of moves, in which each robot's cell points to the
// cell that it wants.
//
//   - A queue whose first robot wants a free cell drives. Where queues meet, the longest drives and the others wait.
//   - Three or more robots in a circle drive around; two who want each other's cells wait, as do all behind a circle.
//   - Nobody drives behind a robot that stays.
//
// Of queues of one length, the one drives whose cell is first in the graph, to which each robot in turn adds its cell and
// the one that it wants.
#pragma once

#include "warehouse.cuh"

struct Traffic {
  int target[NUM_AGENTS];    // the cell that each wants, its own if it stays
  int queue[NUM_AGENTS];     // robots of the longest queue that ends with it
  int order[NUM_AGENTS];     // of its cell in the graph
  int waiting[NUM_AGENTS];   // robots who want its cell and have not been counted
  int counted[NUM_AGENTS];   // a stack of robots behind whom all are counted
  bool drives[NUM_AGENTS];
  short winner[CELLS];       // of a wanted cell: 1 + the robot whose queue drives into it if any does
};

__device__ bool wants_another(const Traffic& traffic, const int* cell, int agent) {
  return traffic.target[agent] != cell[agent];
}

// Whether the queue behind one robot goes before that behind another.
__device__ bool goes_before(const Traffic& traffic, int agent, int rival) {
  const int length = traffic.queue[agent], other = traffic.queue[rival];
  return length > other || (length == other && traffic.order[agent] < traffic.order[rival]);
}

// Counts who waits for whom; returns how many robots nobody waits for, which are put on the stack.
__device__ int line_up(Traffic& traffic, const int* cell, const unsigned char* agent_at) {
  int ends = 0;
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    traffic.winner[cell[agent]] = traffic.winner[traffic.target[agent]] = 0;
    traffic.queue[agent] = 1;
    traffic.order[agent] = 2 * agent;
    traffic.waiting[agent] = 0;
    traffic.drives[agent] = false;
  }
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    const int ahead = agent_at[traffic.target[agent]] - 1;
    if (ahead < 0 || ahead == agent) continue;
    traffic.waiting[ahead]++;
    traffic.order[ahead] = min(traffic.order[ahead], 2 * agent + 1);
  }
  for (int agent = 0; agent < NUM_AGENTS; ++agent)
    if (wants_another(traffic, cell, agent) && traffic.waiting[agent] == 0) traffic.counted[ends++] = agent;
  return ends;
}

// Decides who drives, in as many steps as there are robots. One lane calls it.
__device__ void decide(Traffic& traffic, const int* cell, const unsigned char* agent_at) {
  int left = line_up(traffic, cell, agent_at);
  while (left > 0) {  // from the ends of queues to their heads
    const int agent = traffic.counted[--left], to = traffic.target[agent], rival = traffic.winner[to] - 1;
    if (rival < 0 || goes_before(traffic, agent, rival)) traffic.winner[to] = (short)(agent + 1);
    const int ahead = agent_at[to] - 1;
    if (ahead < 0) continue;
    traffic.queue[ahead] = max(traffic.queue[ahead], traffic.queue[agent] + 1);
    if (--traffic.waiting[ahead] == 0 && wants_another(traffic, cell, ahead)) traffic.counted[left++] = ahead;
  }
  for (int agent = 0; agent < NUM_AGENTS; ++agent) {
    if (!wants_another(traffic, cell, agent)) continue;
    const int ahead = agent_at[traffic.target[agent]] - 1;
    if (ahead < 0) {  // from a free cell to the end of its longest queue
      int next = traffic.winner[traffic.target[agent]] - 1;
      while (next >= 0 && !traffic.drives[next]) {
        traffic.drives[next] = true;
        next = traffic.winner[cell[next]] - 1;
      }
    } else if (traffic.waiting[agent] > 0) {  // only circles are left uncounted
      traffic.drives[agent] = traffic.target[ahead] != cell[agent];
    }
  }
}
