// What a ray meets, as the reference finds it: by a test against every line.
#pragma once

// The nearest line of a ray: distance along it, place on the line, and the cosine between the two.
struct Met {
  int line;
  float distance, along, cosine;
};

__device__ Met nothing_met() { return Met{-1, INFINITY, 0.0f, 0.0f}; }

// The nearer of what has been met and lines first to before end.
__device__ Met cast(Met met, const float4* lines, int first, int end, float2 from, float2 ray) {
  const float length = sqrtf(ray.x * ray.x + ray.y * ray.y);
  for (int i = first; i < end; ++i) {
    const float4 line = lines[i];
    const float along_x = line.z - line.x, along_y = line.w - line.y, to_x = line.x - from.x, to_y = line.y - from.y;
    const float across = ray.x * along_y - ray.y * along_x;
    if (fabsf(across) < 1e-3f) continue;
    const float s = (to_x * along_y - to_y * along_x) / across, t = (to_x * ray.y - to_y * ray.x) / across;
    if (t < 0.0f || t > 1.0f || !(s * length > 0.0f) || !(s * length < met.distance - 1e-4f)) continue;
    const float product = length * sqrtf(along_x * along_x + along_y * along_y) + 1e-6f;
    met = Met{i, s * length, t, (ray.x * along_x + ray.y * along_y) / product};
  }
  return met;
}
