// What the camera of an env's only agent shows, as the reference draws it: every ray is tested against every line. The
// rays of an env are shared among its threads, as there. Needs RES, PIXELS and SUBSAMPLE.
#pragma once

#include "brute_cast.cuh"

// `rgb` (3, pixels) and `depth` (pixels) of a camera; on_texel(texel) is called for each ray that meets a
// wall.
template <class OnTexel>
__device__ void show_by_force(const Camera& camera, const Surfaces& surfaces, float* rgb, float* depth,
                              OnTexel on_texel) {
  const float2 position = camera.position, ahead = camera.forward;
  for (int pixel = lane(); pixel < PIXELS; pixel += num_lanes()) {
    float red = 0.0f, green = 0.0f, blue = 0.0f, near = 0.0f;
    for (int i = 0; i < SUBSAMPLE; ++i) {
      const int number = pixel * SUBSAMPLE + i;
      const float y = camera.tan_half_fov * (float)(RES - 2 * number - 1) / (float)RES;
      const float2 ray = make_float2(ahead.x - y * ahead.y, ahead.y + y * ahead.x);
      const Met met = cast(nothing_met(), surfaces.walls.ends, 0, surfaces.walls.count, position, ray);
      if (met.line < 0) continue;
      const int texel = texel_at(surfaces, met.line, met.along);
      const float3 color = color_of(surfaces.texels[texel]);
      const float light = 1.0f - met.cosine * met.cosine;
      red += light * color.x;
      green += light * color.y;
      blue += light * color.z;
      near += nearness(met.distance);
      on_texel(texel);
    }
    rgb[pixel] = red / SUBSAMPLE;
    rgb[PIXELS + pixel] = green / SUBSAMPLE;
    rgb[2 * PIXELS + pixel] = blue / SUBSAMPLE;
    depth[pixel] = near / SUBSAMPLE;
  }
}
