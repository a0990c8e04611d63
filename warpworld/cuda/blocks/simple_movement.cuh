// The kernel of the block SimpleMovement: agents without inertia, who move and turn only while they act.
#pragma once

#include <indoor.cuh>

// Reads actions, plan, the plans' walls; reads and writes positions and angles, writes velocity, angvelocity and the
// outcomes. speed in metres a second, ang_speed in degrees a second.
extern "C" __global__ void move_simply(Motions motions, const int* actions, const int* plan, Plans plans, float speed,
                                       float ang_speed, float fps, Outcomes outcomes) {
  if (!is_active()) return;
  using namespace plane;
  const int i = agent_index();
  Motion motion = motions.load(i);
  const Push by = push_of(actions[i]);
  const float2 ahead = direction_of(motion.angle);
  motion.velocity = speed * (by.forward * ahead + by.left * left_of(ahead));
  motion.angvelocity = ang_speed * by.turn;
  walk(motion, walls_of(plans, plan[env_id()]), fps, outcomes);
  motions.store(i, motion);
}
