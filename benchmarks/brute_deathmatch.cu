// Deathmatch as the reference draws it: the agents' lines are put into the world first, and every ray of every agent is
// tested against every line. The rays of an env are shared among its threads, as there. For comparison only: rules, arrays
// and the kernels that move and wake agents are those of deathmatch.cu, which is put before this file. The light on agents
// is looked up, for which the reference tests every light against every wall anew in each ray that meets one.

#include "brute_cast.cuh"

constexpr int AGENT_LINES = raycast::FACETS * NUM_AGENTS;

// The lit colour of what a ray has met, among agents' lines first and then walls.
__device__ float3 color_by_force(const Met& met, const Surfaces& surfaces, const float* brightness) {
  const int wall = met.line - AGENT_LINES;
  const float3 color = color_of(wall < 0 ? facet_texel(met.line % raycast::FACETS)
                                         : surfaces.texels[texel_at(surfaces, wall, met.along)]);
  const float light = (1.0f - met.cosine * met.cosine) * (wall < 0 ? brightness[met.line / raycast::FACETS] : 1.0f);
  return make_float3(light * color.x, light * color.y, light * color.z);
}

// What an agent sees: `rgb` (3, pixels), `depth` (pixels), and `agents` (pixels), the share of rays that meet somebody.
__device__ void show_by_force(int agent, float2 position, float2 ahead, const float4* lines, const float* brightness,
                              const Surfaces& surfaces, float tan_half_fov, float* rgb, float* depth, float* agents) {
  const int own = agent * raycast::FACETS;
  for (int pixel = lane(); pixel < PIXELS; pixel += num_lanes()) {
    float red = 0.0f, green = 0.0f, blue = 0.0f, near = 0.0f, somebody = 0.0f;
    for (int i = 0; i < SUBSAMPLE; ++i) {
      const float y = tan_half_fov * (float)(RES - 2 * (pixel * SUBSAMPLE + i) - 1) / (float)RES;
      const float2 ray = make_float2(ahead.x - y * ahead.y, ahead.y + y * ahead.x);
      Met met = cast(nothing_met(), lines, 0, own, position, ray);
      met = cast(met, lines, own + raycast::FACETS, AGENT_LINES + surfaces.walls.count, position, ray);
      if (met.line < 0) continue;
      const float3 color = color_by_force(met, surfaces, brightness);
      red += color.x;
      green += color.y;
      blue += color.z;
      near += nearness(met.distance);
      somebody += met.line < AGENT_LINES ? 1.0f : 0.0f;
    }
    rgb[pixel] = red / SUBSAMPLE;
    rgb[PIXELS + pixel] = green / SUBSAMPLE;
    rgb[2 * PIXELS + pixel] = blue / SUBSAMPLE;
    depth[pixel] = near / SUBSAMPLE;
    agents[pixel] = somebody / SUBSAMPLE;
  }
}

extern "C" __global__ void see_by_force(Scene scene, float* observations_rgb, float* observations_depth,
                                        float* observations_agents) {
  if (!is_active()) return;
  ENV_SHARED(float4, lines, AGENT_LINES + MOST_WALLS);
  ENV_SHARED(float, brightness, NUM_AGENTS);
  const int env = env_id(), first = env * NUM_AGENTS;
  const Surfaces surfaces = surfaces_of(scene);
  const Floor floor = floor_of(scene.plans, scene.plan[env]);
  for (int line = lane(); line < AGENT_LINES; line += num_lanes()) {
    const int agent = line / raycast::FACETS;
    const Body body{scene.positions[first + agent], direction_of(scene.angles[first + agent]), AGENT_WIDTH};
    const plane::Segment facet = raycast::facet_of(body, line % raycast::FACETS);
    lines[line] = make_float4(facet.a.x, facet.a.y, facet.b.x, facet.b.y);
    brightness[agent] = brightness_at(floor, body.position);
  }
  for (int wall = lane(); wall < surfaces.walls.count; wall += num_lanes())
    lines[AGENT_LINES + wall] = surfaces.walls.ends[wall];
  sync_env();  // orders all lines before rays are tested against them
  for (int agent = 0; agent < NUM_AGENTS; ++agent)
    show_by_force(agent, scene.positions[first + agent], direction_of(scene.angles[first + agent]), lines, brightness,
                  surfaces, scene.tan_half_fov, observations_rgb + (first + agent) * 3 * PIXELS,
                  observations_depth + (first + agent) * PIXELS, observations_agents + (first + agent) * PIXELS);
}
