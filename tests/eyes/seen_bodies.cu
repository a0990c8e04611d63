// What lidar and cameras make of walls, boxes and discs.
#include <lidar.cuh>
#include <raycast.cuh>
#include <warpworld.cuh>

// Of each env, all rays from the first body, one by one; and all but three of them together.
extern "C" __global__ void measure(float2* position, const float2* shape, const float4* walls, const float2* corners,
                                   const float2* rays, float* distance, int* object, float* together) {
  if (!is_active()) return;
  const int env = env_id();
  const Bodies all{position + env * BODIES, nullptr, shape + env * BODIES, nullptr, nullptr, nullptr, BODIES};
  const Arena arena{corners[2 * env], corners[2 * env + 1], walls + env * WALLS, WALLS};
  if (lane() == 0) {
    const auto over = [](const plane::Rectangle&) { return false; };
    cast_all(all, arena, 0, rays, RAYS - 3, over, [&](int ray, const Echo& echo) {
      float* written = together + 2 * (env * RAYS + ray);
      written[0] = echo.distance;
      written[1] = (float)echo.object;
    });
  }
  for (int ray = lane(); ray < RAYS; ray += num_lanes()) {
    const Echo echo = cast(all, arena, 0, rays[ray]);
    distance[env * RAYS + ray] = echo.distance;
    object[env * RAYS + ray] = echo.object;
  }
}

// A camera of agent 0 among line walls, agents of several widths, and boxes whose sides are put behind the walls.
extern "C" __global__ void see(const float2* agents, const float* width, const float4* lines, const float4* boxes,
                               float* depth, int* seen, float tan_half_fov) {
  if (!is_active()) return;
  using Eye = raycast::Eye<RAYS, LINES + 4 * BOXES>;
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  ENV_SHARED(float4, walls, LINES + 4 * BOXES);
  const int first = env_id() * NUM_AGENTS;
  for (int i = lane(); i < NUM_AGENTS; i += num_lanes())
    bodies[i] = Body{agents[first + i], make_float2(1.0f, 0.0f), width[first + i]};
  for (int i = lane(); i < LINES; i += num_lanes()) walls[i] = lines[env_id() * LINES + i];
  for (int i = lane(); i < BOXES; i += num_lanes())
    plane::put_sides(plane::rectangle(boxes[env_id() * BOXES + i]), walls + LINES + 4 * i);
  sync_env();  // orders bodies and walls before they are seen
  const Camera camera{bodies[0].position, bodies[0].forward, tan_half_fov};
  look(eye[0], camera, Walls{walls, LINES + 4 * BOXES}, bodies, 0);
  for (int ray = lane(); ray < RAYS; ray += num_lanes()) {
    const Hit hit = hit_of(eye[0], camera, ray);
    depth[env_id() * RAYS + ray] = hit.depth;
    seen[env_id() * RAYS + ray] = hit.object;
  }
}
