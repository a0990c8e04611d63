// The light on agents in a floor plan, and what the cameras of all of them show.
#include <indoor.cuh>
#include <warpworld.cuh>

extern "C" __global__ void see(const float2* positions, const float* angles, float* brightness, float* rgb, float* depth,
                               int* met, const int* plan, const float4* plan_walls, const int* plan_first_wall,
                               const int* wall_first_texel, const unsigned* wall_texels, const int4* plan_floor,
                               const unsigned char* floor_light, float tan_half_fov) {
  if (!is_active()) return;
  using Eye = raycast::Eye<RES, MOST_WALLS>;
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  const int env = env_id(), first = env * NUM_AGENTS;
  const Surfaces surfaces = surfaces_of(plan[env], plan_walls, plan_first_wall, wall_first_texel, wall_texels);
  const Floor floor = floor_of(plan[env], plan_floor, floor_light);
  for (int i = lane(); i < NUM_AGENTS; i += num_lanes()) {
    bodies[i] = Body{positions[first + i], direction_of(angles[first + i]), AGENT_WIDTH};
    brightness[first + i] = brightness_at(floor, positions[first + i]);
  }
  sync_env();  // orders all bodies and their light before they are seen
  for (int i = 0; i < NUM_AGENTS; ++i) {
    const Camera camera{bodies[i].position, bodies[i].forward, tan_half_fov};
    const int at = first + i;
    look(eye[0], camera, surfaces.walls, bodies, i);
    show<1>(eye[0], camera, surfaces, brightness + first, rgb + at * 3 * RES, depth + at * RES, Unseen(),
            [&](int object, int) { if (object < NUM_AGENTS && object >= 0) atomicAdd(&met[at], 1); });
    sync_env();  // orders reading before the next camera looks
  }
}
