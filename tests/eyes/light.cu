// The light on agents in a floor plan, and what the cameras of all of them show.
#include <indoor.cuh>
#include <warpworld.cuh>

extern "C" __global__ void see(Scene scene, float* brightness, float* rgb, float* depth, int* met) {
  if (!is_active()) return;
  using Eye = raycast::Eye<RES, MOST_WALLS>;
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  const int first = env_id() * NUM_AGENTS;
  const Surfaces surfaces = surfaces_of(scene);
  const Floor floor = floor_of(scene.plans, scene.plan[env_id()]);
  for (int i = lane(); i < NUM_AGENTS; i += num_lanes()) {
    bodies[i] = Body{scene.positions[first + i], direction_of(scene.angles[first + i]), AGENT_WIDTH};
    brightness[first + i] = brightness_at(floor, bodies[i].position);
  }
  sync_env();  // orders all bodies and their light before they are seen
  for (int i = 0; i < NUM_AGENTS; ++i) {
    const Camera camera{bodies[i].position, bodies[i].forward, scene.tan_half_fov};
    const int at = first + i;
    look(eye[0], camera, surfaces.walls, bodies, i);
    show<1>(eye[0], camera, surfaces, brightness + first, rgb + at * 3 * RES, depth + at * RES, Unseen(),
            [&](const auto& rays) {
              for (const int object : rays.object)
                if (object < NUM_AGENTS && object >= 0) atomicAdd(&met[at], 1);
            });
    sync_env();  // orders reading before the next camera looks
  }
}
