// What benchmarks/boxes.py measures: one lidar, and one camera, among things of one kind.
#include <lidar.cuh>
#include <raycast.cuh>
#include <warpworld.cuh>

extern "C" __global__ void lidar(float2* position, const float2* shape, const float4* rectangles, const float2* rays,
                                 float* distance) {
  if (!is_active()) return;
  const int env = env_id();
  const Bodies all{position + env * BODIES, nullptr, shape, nullptr, nullptr, nullptr, BODIES};
  const Arena arena{make_float2(0.0f, 0.0f), make_float2(20.0f, 20.0f), rectangles + env * WALLS, STILL};
  for (int ray = lane(); ray < RAYS; ray += num_lanes()) distance[env * RAYS + ray] = cast(all, arena, 0, rays[ray]).distance;
}

// Line walls come first, and then the sides of boxes, which are put there anew.
extern "C" __global__ void camera(const float2* position, const float4* lines, const float4* rectangles, float* distance) {
  if (!is_active()) return;
  constexpr int most = LINES + 4 * BOXES;
  using Eye = raycast::Eye<RAYS, most>;
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  ENV_SHARED(float4, walls, most);
  const int env = env_id();
  if (lane() == 0) bodies[0] = Body{position[env * BODIES], make_float2(1.0f, 0.0f), 0.3f};
  for (int i = lane(); i < LINES; i += num_lanes()) walls[i] = lines[env * WALLS + i];
  for (int i = lane(); i < BOXES; i += num_lanes())
    plane::put_sides(plane::rectangle(rectangles[env * WALLS + i]), walls + LINES + 4 * i);
  sync_env();  // orders bodies and walls before they are seen
  const Camera eye_at{bodies[0].position, bodies[0].forward, 1.0f};
  look(eye[0], eye_at, Walls{walls, most}, bodies, 0);
  for (int ray = lane(); ray < RAYS; ray += num_lanes()) distance[env * RAYS + ray] = hit_of(eye[0], eye_at, ray).depth;
}
