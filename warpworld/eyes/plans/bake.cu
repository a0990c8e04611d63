// Static light on walls, texel by texel, and on the floor, node by node of a grid: one plan an env, its walls and the
// stretches of its grid dealt out to the env's threads.
//
// Read: plan_walls (walls,) x0 y0 x1 y1; plan_first_wall, plan_first_light (plans + 1,); wall_first_texel (walls + 1,);
// plan_lights (lights,) x y intensity 0; wall_pattern (texels,) linear brightness; palette (NUM_COLOURS,) linear RGB 0;
// plan_floor (plans,) first node, columns, rows, nodes a metre.
// Written: by bake wall_texels (texels,), by bake_floor floor_light (nodes,), each by the thread that has its wall or
// stretch.
//
// Light at a point: min(1, AMBIENT + the sum of LUMINANCE * intensity / max(distance^2, 1) over the lights that no wall
// hides). A wall has two sides but one row of texels, which shows the brighter side.
#include <plan.cuh>
#include <warpworld.cuh>

constexpr float AMBIENT = 0.1f, LUMINANCE = 2.0f;
constexpr float IN_FRONT = 0.001f;  // metres: light is measured so far in front of the wall, where no end of another is
constexpr int STRETCH = 64;         // texels of a wall that are lit together
constexpr int FLOOR_STRETCH = 8;    // nodes of a row of the floor, likewise
constexpr int RED_BITS = 11, GREEN_BITS = 11, BLUE_BITS = 10;

// Positive where (x, y) lies left of the way from (ax, ay) to (bx, by).
__device__ float turn(float ax, float ay, float bx, float by, float x, float y) {
  return (bx - ax) * (y - ay) - (by - ay) * (x - ax);
}

// Whether a wall crosses the way from (ax, ay) to (bx, by). A corner that two walls share belongs to one of them alone,
// since both compute the same number for it: no light gets through between them.
__device__ bool hides(float4 wall, float ax, float ay, float bx, float by) {
  const float first = turn(ax, ay, bx, by, wall.x, wall.y), second = turn(ax, ay, bx, by, wall.z, wall.w);
  if ((first >= 0.0f) == (second >= 0.0f)) return false;
  const float a = turn(wall.x, wall.y, wall.z, wall.w, ax, ay), b = turn(wall.x, wall.y, wall.z, wall.w, bx, by);
  return (a >= 0.0f) != (b >= 0.0f);
}

// Whether both ends of a wall lie beyond the line from (ax, ay) to (bx, by), seen from (x, y).
__device__ bool beyond(float4 wall, float ax, float ay, float bx, float by, float x, float y) {
  const float own = turn(ax, ay, bx, by, x, y) >= 0.0f ? 1.0f : -1.0f;
  return own * turn(ax, ay, bx, by, wall.x, wall.y) < 0.0f && own * turn(ax, ay, bx, by, wall.z, wall.w) < 0.0f;
}

// Points at even distances on a line.
struct Points {
  float x, y, step_x, step_y;  // the first, and the way to the next
  int count;

  // The i-th, from 0; between them there is more of the line.
  __device__ float2 at(float i) const { return make_float2(x + i * step_x, y + i * step_y); }
};

// The walls that may hide (x, y) from one of the points: those not beyond one side of the triangle. Returns how many;
// `own`, which the points lie before, is none of them.
__device__ int collect(const float4* walls, int num_walls, int own, float x, float y, const Points& points,
                       short* found) {
  const float2 a = points.at(-0.5f), b = points.at((float)points.count - 0.5f);
  int count = 0;
  for (int w = 0; w < num_walls; ++w) {
    if (w == own || beyond(walls[w], a.x, a.y, b.x, b.y, x, y) || beyond(walls[w], x, y, a.x, a.y, b.x, b.y) ||
        beyond(walls[w], x, y, b.x, b.y, a.x, a.y))
      continue;
    found[count++] = (short)w;
  }
  return count;
}

// Adds one light to the sums `light_of` the points.
__device__ void add_light(const float4* walls, int num_walls, int own, float4 light, const Points& points,
                          float* light_of) {
  short near_by[MAX_WALLS];
  const int num_near = collect(walls, num_walls, own, light.x, light.y, points, near_by);
  for (int i = 0; i < points.count; ++i) {
    const float2 point = points.at((float)i);
    bool hidden = false;
    for (int k = 0; k < num_near && !hidden; ++k) hidden = hides(walls[near_by[k]], light.x, light.y, point.x, point.y);
    if (hidden) continue;
    const float squared = (light.x - point.x) * (light.x - point.x) + (light.y - point.y) * (light.y - point.y);
    light_of[i] += LUMINANCE * light.z / fmaxf(squared, 1.0f);
  }
}

// Adds one light to `count` texels from `first` on, of `width` that the wall has; nothing where it lies in the wall's
// own line. `light_of` has the sums of the wall's right and left side.
__device__ void add_light_to_wall(const float4* walls, int num_walls, int own, float4 light, int first, int count,
                                  int width, float (*light_of)[STRETCH]) {
  const float4 wall = walls[own];
  const float along_x = wall.z - wall.x, along_y = wall.w - wall.y;
  const float length = sqrtf(along_x * along_x + along_y * along_y);
  const float side = turn(wall.x, wall.y, wall.z, wall.w, light.x, light.y);
  if (fabsf(side) <= IN_FRONT * length) return;
  const float in_front = (side > 0.0f ? IN_FRONT : -IN_FRONT) / length, at = ((float)first + 0.5f) / (float)width;
  const Points points{wall.x - along_y * in_front + along_x * at, wall.y + along_x * in_front + along_y * at,
                      along_x / (float)width, along_y / (float)width, count};
  add_light(walls, num_walls, own, light, points, light_of[side > 0.0f]);
}

__device__ unsigned int packed(float red, float green, float blue) {
  const unsigned int r = (unsigned int)(red * (float)((1 << RED_BITS) - 1) + 0.5f);
  const unsigned int g = (unsigned int)(green * (float)((1 << GREEN_BITS) - 1) + 0.5f);
  const unsigned int b = (unsigned int)(blue * (float)((1 << BLUE_BITS) - 1) + 0.5f);
  return r | g << RED_BITS | b << (RED_BITS + GREEN_BITS);
}

extern "C" __global__ void bake(const float4* plan_walls, const int* plan_first_wall, const int* wall_first_texel,
                                const float4* plan_lights, const int* plan_first_light, const float* wall_pattern,
                                const float4* palette, unsigned int* wall_texels) {
  if (!is_active()) return;  // guard
  const int plan = env_id(), first_wall = plan_first_wall[plan], num_walls = plan_first_wall[plan + 1] - first_wall;
  const float4* walls = plan_walls + first_wall;
  for (int w = lane(); w < num_walls; w += num_lanes()) {
    const int first_texel = wall_first_texel[first_wall + w];
    const int width = wall_first_texel[first_wall + w + 1] - first_texel;
    const float4 colour = palette[w % NUM_COLOURS];
    for (int first = 0; first < width; first += STRETCH) {
      const int count = min(STRETCH, width - first);
      float light_of[2][STRETCH];
      for (int i = 0; i < count; ++i) light_of[0][i] = light_of[1][i] = AMBIENT;
      for (int l = plan_first_light[plan]; l < plan_first_light[plan + 1]; ++l)
        add_light_to_wall(walls, num_walls, w, plan_lights[l], first, count, width, light_of);
      for (int i = 0; i < count; ++i) {
        const int texel = first_texel + first + i;
        const float light = fminf(fmaxf(light_of[0][i], light_of[1][i]), 1.0f) * wall_pattern[texel];
        wall_texels[texel] = packed(colour.x * light, colour.y * light, colour.z * light);
      }
    }
  }
}

// Lights one stretch of a row.
__device__ void light_stretch(const float4* walls, int num_walls, const float4* lights, int num_lights,
                              const Points& points, unsigned char* written) {
  float light_of[FLOOR_STRETCH];
  for (int i = 0; i < points.count; ++i) light_of[i] = AMBIENT;
  for (int l = 0; l < num_lights; ++l) add_light(walls, num_walls, -1, lights[l], points, light_of);
  for (int i = 0; i < points.count; ++i) written[i] = (unsigned char)(fminf(light_of[i], 1.0f) * 255.0f + 0.5f);
}

extern "C" __global__ void bake_floor(const float4* plan_walls, const int* plan_first_wall, const float4* plan_lights,
                                      const int* plan_first_light, const int4* plan_floor,
                                      unsigned char* floor_light) {
  if (!is_active()) return;  // guard
  const int plan = env_id(), first_wall = plan_first_wall[plan], first_light = plan_first_light[plan];
  const int4 floor = plan_floor[plan];
  const float apart = 1.0f / (float)floor.w;               // metres between nodes
  const int stretches = (floor.y + FLOOR_STRETCH - 1) / FLOOR_STRETCH;  // of each row
  for (int stretch = lane(); stretch < floor.z * stretches; stretch += num_lanes()) {
    const int row = stretch / stretches, column = stretch % stretches * FLOOR_STRETCH;
    const Points points{apart * (float)column, apart * (float)row, apart, 0.0f, min(FLOOR_STRETCH, floor.y - column)};
    light_stretch(plan_walls + first_wall, plan_first_wall[plan + 1] - first_wall, plan_lights + first_light,
                  plan_first_light[plan + 1] - first_light, points, floor_light + floor.x + row * floor.y + column);
  }
}
