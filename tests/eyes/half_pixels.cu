// What cameras show, as float and as half.
#include <half.cuh>
#include <look_around.cuh>

extern "C" __global__ void see(Scene scene, float* rgb, float* depth, float* others, __half* half_rgb,
                               __half* half_depth, __half* half_others) {
  if (!is_active()) return;
  look_around<1>(scene, rgb, depth, others);
  sync_env();  // orders reading what a camera sees before the next one looks
  look_around<1>(scene, half_rgb, half_depth, half_others);
}
