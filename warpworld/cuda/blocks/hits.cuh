// The kernel of the block Hits: what each ray of the cameras of agents meets.
#pragma once

#include <indoor.cuh>

// What rays meet, of all agents (agents, NUM_CAMERAS * RES): see the block.
struct RayHits {
  int *hit_object, *hit_texel;
  float *hit_along, *hit_distance;

  // A ray that meets nothing is at no place of it, and infinitely far.
  WW_METHOD void store(int i, const Hit& hit, int texel) const {
    hit_object[i] = hit.object;
    hit_texel[i] = texel;
    hit_along[i] = hit.object < 0 ? 0.0f : hit.along;
    hit_distance[i] = hit.depth;
  }
};

// Reads the scene; writes the hits.
extern "C" __global__ void find_hits(Scene scene, const float* camera_angles, RayHits hits) {
  if (!is_active()) return;
  using Eye = raycast::Eye<RES, MOST_WALLS>;
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(Body, bodies, NUM_AGENTS);
  const int first = env_id() * NUM_AGENTS;
  const Surfaces surfaces = surfaces_of(scene);
  for (int i = lane(); i < NUM_AGENTS; i += num_lanes())
    bodies[i] = Body{scene.positions[first + i], direction_of(scene.angles[first + i]), AGENT_WIDTH};
  for (int i = 0; i < NUM_AGENTS * NUM_CAMERAS; ++i) {
    sync_env();  // orders bodies before they are seen, and reading what one camera sees before the next one looks
    const int self = i / NUM_CAMERAS, at = i % NUM_CAMERAS;
    const float2 forward = direction_of(scene.angles[first + self] + camera_angles[at]);
    const Camera camera{bodies[self].position, forward, scene.tan_half_fov};
    look(eye[0], camera, surfaces.walls, bodies, self);
    const raycast::Share rays = raycast::share_of(RES);
    for (int ray = rays.first; ray < rays.end; ray += rays.step) {
      const Hit hit = hit_of(eye[0], camera, ray);
      const int wall = hit.object - NUM_AGENTS;
      const int texel = wall < 0 ? -1 : texel_at(surfaces, wall, hit.along) - surfaces.first_texel[0];
      hits.store(((first + self) * NUM_CAMERAS + at) * RES + ray, hit, texel);
    }
  }
}
