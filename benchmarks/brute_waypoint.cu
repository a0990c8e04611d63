// Waypoint and PointGoal as the reference draws them: every ray is tested against every line. For comparison only. Rules,
// arrays and the kernels that move and wake agents are those of waypoint.cu, which is put before this file.

#include "brute_view.cuh"

extern "C" __global__ void see_by_force(Scene scene, float* observations_rgb, float* observations_depth) {
  if (!is_active()) return;
  const int env = env_id();
  show_by_force(camera_of(scene), surfaces_of(scene), observations_rgb + env * 3 * PIXELS,
                observations_depth + env * PIXELS, [](int) {});
}
