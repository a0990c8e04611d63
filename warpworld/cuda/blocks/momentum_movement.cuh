// The kernel of the block MomentumMovement: agents of some inertia, whom actions push and turn.
#pragma once

#include <indoor.cuh>

// Reads actions, plan, the plans' walls; reads and writes the motions; writes the outcomes.
extern "C" __global__ void move_with_momentum(Motions motions, const int* actions, const int* plan, Plans plans,
                                              Inertia inertia, Outcomes outcomes) {
  if (!is_active()) return;
  const int i = agent_index();
  Motion motion = motions.load(i);
  push(motion, push_of(actions[i]), inertia);
  walk(motion, walls_of(plans, plan[env_id()]), inertia.fps, outcomes);
  motions.store(i, motion);
}
