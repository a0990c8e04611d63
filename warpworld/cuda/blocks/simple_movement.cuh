// The kernel of the block SimpleMovement: agents without inertia, who move and turn only while they act.
#pragma once

#include <indoor.cuh>

// Reads actions, plan, the plans' walls; reads and writes positions and angles, writes velocity and angvelocity. speed in
// metres a second, ang_speed in degrees a second.
extern "C" __global__ void move_simply(float2* positions, float2* velocity, float* angles, float* angvelocity,
                                       const int* actions, const int* plan, const float4* plan_walls,
                                       const int* plan_first_wall, float speed, float ang_speed, float fps) {
  if (!is_active()) return;
  using namespace plane;
  const int i = agent_index();
  const Motions motions{positions, velocity, angles, angvelocity};
  Motion motion = motions.load(i);
  const Push by = push_of(actions[i]);
  const float2 ahead = direction_of(motion.angle);
  motion.velocity = speed * (by.forward * ahead + by.left * left_of(ahead));
  motion.angvelocity = ang_speed * by.turn;
  walk(motion, walls_of(plan[env_id()], plan_walls, plan_first_wall), fps);
  motions.store(i, motion);
}
