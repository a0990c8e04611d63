// What one camera an agent sees, for each ray.
#include <raycast.cuh>
#include <warpworld.cuh>

extern "C" __global__ void look_around(const float2* position, const float* angle, const float4* walls,
                                       const int* num_walls, int* object, int* facet, float* depth, float* along,
                                       float* facing, float tan_half_fov, float width) {
  if (!is_active()) return;
  using Eye = raycast::Eye<RAYS, MOST_WALLS>;
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  const int first = env_id() * NUM_AGENTS;
  for (int i = lane(); i < NUM_AGENTS; i += num_lanes())
    bodies[i] = Body{position[first + i], make_float2(cosf(angle[first + i]), sinf(angle[first + i])), width};
  sync_env();  // orders all bodies before they are seen
  for (int i = 0; i < NUM_AGENTS; ++i) {
    const Camera camera{bodies[i].position, bodies[i].forward, tan_half_fov};
    look(eye[0], camera, Walls{walls + env_id() * MOST_WALLS, num_walls[env_id()]}, bodies, i);
    const raycast::Share rays = raycast::share_of(RAYS);
    for (int ray = rays.first; ray < rays.end; ray += rays.step) {
      const Hit hit = hit_of(eye[0], camera, ray);
      const int at = (first + i) * RAYS + ray;
      object[at] = hit.object;
      facet[at] = hit.facet;
      depth[at] = hit.depth;
      along[at] = hit.along;
      facing[at] = hit.facing;
    }
    sync_env();  // orders reading before the next camera looks
  }
}
