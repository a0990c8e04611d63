// What the cameras of all agents of an env show: what the kernels of the blocks RGB and Depth have in common.
#pragma once

#include <indoor.cuh>

// What a camera looks at, and from where.
struct Scene {
  const float2* positions;
  const float *angles, *camera_angles;  // degrees; of each camera, to the left of its agent's heading
  Surfaces surfaces;
  Floor floor;
  float tan_half_fov;
};

// All lanes of the env call it, together. The cameras of an agent are side by side in a row of pixels, in their order:
// rgb (agents, 3, NUM_CAMERAS * PIXELS) and depth (agents, NUM_CAMERAS * PIXELS) are of this env; either may be Unseen.
template <class Rgb, class Depth>
WW_FUNCTION void look_around(const Scene& scene, Rgb rgb, Depth depth) {
  using Eye = raycast::Eye<RES, MOST_WALLS>;
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  ENV_SHARED(float, brightness, NUM_AGENTS);
  constexpr int row = NUM_CAMERAS * PIXELS;
  const int first = env_id() * NUM_AGENTS;
  for (int i = lane(); i < NUM_AGENTS; i += num_lanes()) {
    bodies[i] = Body{scene.positions[first + i], direction_of(scene.angles[first + i]), AGENT_WIDTH};
    brightness[i] = brightness_at(scene.floor, bodies[i].position);
  }
  for (int i = 0; i < NUM_AGENTS * NUM_CAMERAS; ++i) {
    sync_env();  // orders bodies before they are seen, and reading what one camera sees before the next one looks
    const int agent = i / NUM_CAMERAS, at = i % NUM_CAMERAS;
    const float2 forward = direction_of(scene.angles[first + agent] + scene.camera_angles[at]);
    const Camera camera{bodies[agent].position, forward, scene.tan_half_fov};
    look(eye[0], camera, scene.surfaces.walls, bodies, agent);
    show<SUBSAMPLE>(eye[0], camera, scene.surfaces, brightness, rgb + (agent * 3 * row + at * PIXELS),
                    depth + (agent * row + at * PIXELS), Unseen(), [](int, int) {}, row);
  }
}
