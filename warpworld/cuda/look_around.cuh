// What the cameras of all agents of an env show: Deathmatch's, and those of the blocks.
#pragma once

#include "indoor.cuh"

// All lanes of the env call it, together. An agent's cameras are side by side in a row of pixels, in their order: of all
// envs are rgb (agents, 3, Cameras * PIXELS), and depth and agents (agents, Cameras * PIXELS); any may be Unseen().
// camera_angles: degrees of each camera to the left of its agent's heading; nullptr for one ahead.
// The caller puts a sync_env() before it where positions or angles were written in the same kernel, between two calls,
// and after it before either is written again: the last camera reads both. Calls for other types of pixels, or another
// number of cameras, each take an Eye of shared memory of their own. on_rays(self, rays) is called as by show(), with the
// number of the agent that looks.
template <int Cameras, class Rgb, class Depth, class Agents, class OnRays>
WW_FUNCTION void look_around(const Scene& scene, Rgb rgb, Depth depth, Agents agents, const float* camera_angles,
                             OnRays on_rays) {
  using Eye = raycast::Eye<RES, MOST_WALLS>;
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  ENV_SHARED(float, brightness, NUM_AGENTS);
  constexpr int row = Cameras * PIXELS;
  const int first = env_id() * NUM_AGENTS, home = scene.plan[env_id()];
  const Surfaces surfaces = surfaces_of(scene.plans, home);
  const Floor floor = floor_of(scene.plans, home);
  for (int i = lane(); i < NUM_AGENTS; i += num_lanes()) {
    bodies[i] = Body{scene.positions[first + i], direction_of(scene.angles[first + i]), AGENT_WIDTH};
    brightness[i] = brightness_at(floor, bodies[i].position);
  }
  for (int i = 0; i < NUM_AGENTS * Cameras; ++i) {
    sync_env();  // orders bodies before they are seen, and reading what one camera sees before the next one looks
    const int self = i / Cameras, at = i % Cameras, agent = first + self;
    const float2 forward =
        camera_angles == nullptr ? bodies[self].forward : direction_of(scene.angles[agent] + camera_angles[at]);
    const Camera camera{bodies[self].position, forward, scene.tan_half_fov};
    look(eye[0], camera, surfaces.walls, bodies, self);
    show<SUBSAMPLE>(eye[0], camera, surfaces, brightness, rgb + (agent * 3 * row + at * PIXELS),
                    depth + (agent * row + at * PIXELS), agents + (agent * row + at * PIXELS),
                    [&](const auto& rays) { on_rays(self, rays); }, row);
  }
}

template <int Cameras, class Rgb, class Depth, class Agents>
WW_FUNCTION void look_around(const Scene& scene, Rgb rgb, Depth depth, Agents agents,
                             const float* camera_angles = nullptr) {
  look_around<Cameras>(scene, rgb, depth, agents, camera_angles, [](int, const auto&) {});
}
