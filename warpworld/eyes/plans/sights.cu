// Texels of walls that can be seen from the middle of some cell in which agents start: one plan an env, its texels dealt out
// to the env's threads.
//
// Read: plan_walls, plan_first_wall, wall_first_texel, plan_first_room, room_first_cell and plan_cells, as in Plans.
// Written: in_sight, a flag for each texel of all plans.
#include <geometry.cuh>
#include <warpworld.cuh>

constexpr int NOTHING = -1;

// A wall that stands between a texel of wall `own` and a place, or NOTHING; the one that stood there before is asked first.
__device__ int wall_between(const float4* walls, int first, int end, int own, const plane::Segment& line, int before) {
  if (before != NOTHING && plane::touch(plane::segment(walls[before]), line)) return before;
  for (int wall = first; wall < end; ++wall)
    if (wall != own && plane::touch(plane::segment(walls[wall]), line)) return wall;
  return NOTHING;
}

extern "C" __global__ void look_at_texels(const float4* plan_walls, const int* plan_first_wall,
                                          const int* wall_first_texel, const int* plan_first_room,
                                          const int* room_first_cell, const float2* plan_cells,
                                          unsigned char* in_sight) {
  if (!is_active()) return;  // guard
  using namespace plane;
  const int plan = env_id(), first = plan_first_wall[plan], end = plan_first_wall[plan + 1];
  const int first_cell = room_first_cell[plan_first_room[plan]], end_cell = room_first_cell[plan_first_room[plan + 1]];
  for (int own = first; own < end; ++own) {
    const Segment wall = segment(plan_walls[own]);
    const int first_texel = wall_first_texel[own], count = wall_first_texel[own + 1] - first_texel;
    for (int texel = lane(); texel < count; texel += num_lanes()) {
      const float2 middle = wall.a + ((float)texel + 0.5f) / (float)count * (wall.b - wall.a);
      int between = NOTHING;
      bool seen = false;
      for (int cell = first_cell; cell < end_cell && !seen; ++cell) {
        between = wall_between(plan_walls, first, end, own, Segment{middle, plan_cells[cell]}, between);
        seen = between == NOTHING;
      }
      in_sight[first_texel + texel] = seen;
    }
  }
}
