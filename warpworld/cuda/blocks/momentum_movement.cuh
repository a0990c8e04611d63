// The kernel of the block MomentumMovement: agents of some inertia, whom actions push and turn.
#pragma once

#include <indoor.cuh>

// Reads actions, plan, the plans' walls; reads and writes positions, velocity, angles and angvelocity. accel in m/s^2,
// ang_accel in degrees/s^2, decay a share of the speed lost in each step.
extern "C" __global__ void move_with_momentum(float2* positions, float2* velocity, float* angles, float* angvelocity,
                                              const int* actions, const int* plan, const float4* plan_walls,
                                              const int* plan_first_wall, float accel, float ang_accel, float decay,
                                              float fps) {
  if (!is_active()) return;
  const int i = agent_index();
  const Motions motions{positions, velocity, angles, angvelocity};
  Motion motion = motions.load(i);
  push(motion, push_of(actions[i]), accel, ang_accel, decay, fps);
  walk(motion, walls_of(plan[env_id()], plan_walls, plan_first_wall), fps);
  motions.store(i, motion);
}
