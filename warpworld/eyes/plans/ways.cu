// Fields of shortest ways: one plan an env, its places dealt out to the env's threads.
//
// Read: plan_walls (walls,) x0 y0 x1 y1; plan_first_wall (plans + 1,); plan_ways (plans,) and way_places as in Ways.
// Written: by clear_cells open_cells, a flag for each cell of each plan, at plan_ways' first cell / NUM_PLACES; by
// spread_ways way_metres, for each plan and place metres from each cell.
//
// The metres are straight ones where a place is in sight. Elsewhere they solve |gradient| = 1 (the eikonal equation) by
// Godunov's upwind differences, swept in four orders until nothing changes (Zhao, "A fast sweeping method for Eikonal
// equations", 2005), or lead over corners where that is shorter. All go from side to side of open cells, so that no way slips
// through a wall of no thickness.
#include <ways.cuh>
#include <warpworld.cuh>

constexpr float SETTLED = 1e-4f;  // metres that a change must exceed

__device__ float distance_to_wall(float4 wall, float2 place) {
  using namespace plane;
  const float2 first = make_float2(wall.x, wall.y), along = make_float2(wall.z - wall.x, wall.w - wall.y);
  const float share = clamped(dot(place - first, along) / dot(along, along), 0.0f, 1.0f);
  return length(place - first - share * along);
}

extern "C" __global__ void clear_cells(const float4* plan_walls, const int* plan_first_wall, const int4* plan_ways,
                                       unsigned char* open_cells) {
  if (!is_active()) return;  // guard
  const int plan = env_id();
  const int4 grid = plan_ways[plan];
  for (int cell = lane(); cell < grid.w; cell += num_lanes()) {
    const float2 middle = middle_of_cell(cell % grid.y, cell / grid.y);
    float nearest = FAR_OFF;
    for (int wall = plan_first_wall[plan]; wall < plan_first_wall[plan + 1]; ++wall)
      nearest = plane::smaller(nearest, distance_to_wall(plan_walls[wall], middle));
    open_cells[grid.x / NUM_PLACES + cell] = nearest >= WAY_CLEAR;
  }
}

// A plan's cells, and the metres from each to one place.
struct Field {
  const unsigned char* open;
  float* metres;
  int columns, rows;

  WW_METHOD bool has(int column, int row) const { return column >= 0 && row >= 0 && column < columns && row < rows; }
  WW_METHOD bool is_open(int column, int row) const { return has(column, row) && open[row * columns + column]; }
  WW_METHOD float at(int column, int row) const { return has(column, row) ? metres[row * columns + column] : FAR_OFF; }
};

// Whether a straight line from a place to the middle of a cell stays in open cells, which touch along their sides.
__device__ bool is_in_sight(const Field& field, float2 place, int column, int row) {
  int at_column = (int)(place.x / WAY_CELL), at_row = (int)(place.y / WAY_CELL);
  const float2 middle = middle_of_cell(column, row);
  const float dx = middle.x - place.x, dy = middle.y - place.y;
  const int right = dx > 0.0f ? 1 : -1, up = dy > 0.0f ? 1 : -1;
  for (;;) {
    if (!field.is_open(at_column, at_row)) return false;
    if (at_column == column && at_row == row) return true;
    // shares of the line at which it leaves the cell through either side
    const float side_x = WAY_CELL * (float)(at_column + (right > 0)), side_y = WAY_CELL * (float)(at_row + (up > 0));
    const float leaves_x = at_column == column ? 2.0f : (side_x - place.x) / dx;
    const float leaves_y = at_row == row ? 2.0f : (side_y - place.y) / dy;
    (leaves_x < leaves_y ? at_column : at_row) += leaves_x < leaves_y ? right : up;
  }
}

// Begins at the cells that are in sight of a place or within reach: straight. Whether there is one.
__device__ bool begin(const Field& field, float2 place, float reach) {
  using namespace plane;
  bool found = false;
  for (int cell = 0; cell < field.columns * field.rows; ++cell) {
    const int column = cell % field.columns, row = cell / field.columns;
    const float metres = length(middle_of_cell(column, row) - place);
    const bool begins = field.open[cell] && (metres < reach || is_in_sight(field, place, column, row));
    field.metres[cell] = begins ? metres : FAR_OFF;
    found |= begins;
  }
  return found;
}

// Metres at a cell that a front reaches from beside and from above or below.
__device__ float by_front(const Field& field, int column, int row) {
  using namespace plane;
  const float beside = smaller(field.at(column - 1, row), field.at(column + 1, row));
  const float above = smaller(field.at(column, row - 1), field.at(column, row + 1));
  const float apart = fabsf(beside - above);
  if (apart >= WAY_CELL) return smaller(beside, above) + WAY_CELL;
  return 0.5f * (beside + above + sqrtf(2.0f * WAY_CELL * WAY_CELL - apart * apart));
}

// Metres at a cell from those at its corners, between two open cells: fronts are late along diagonals, these are not.
__device__ float by_corners(const Field& field, int column, int row) {
  float least = FAR_OFF;
  for (int corner = 0; corner < 4; ++corner) {
    const int right = corner % 2 ? 1 : -1, up = corner < 2 ? 1 : -1;
    if (field.is_open(column + right, row) && field.is_open(column, row + up))
      least = plane::smaller(least, field.at(column + right, row + up) + 1.41421356f * WAY_CELL);
  }
  return least;
}

// Visits all cells in one of four orders; whether a way became shorter.
__device__ bool sweep(const Field& field, bool from_left, bool from_below) {
  using namespace plane;
  bool changed = false;
  for (int i = 0; i < field.rows; ++i) {
    const int row = from_below ? i : field.rows - 1 - i;
    for (int j = 0; j < field.columns; ++j) {
      const int column = from_left ? j : field.columns - 1 - j, cell = row * field.columns + column;
      if (!field.open[cell]) continue;
      const float metres = smaller(by_front(field, column, row), by_corners(field, column, row));
      if (metres >= field.metres[cell] - SETTLED) continue;
      field.metres[cell] = metres;
      changed = true;
    }
  }
  return changed;
}

extern "C" __global__ void spread_ways(const int4* plan_ways, const float2* way_places, const unsigned char* open_cells,
                                       float* way_metres) {
  if (!is_active()) return;  // guard
  const int plan = env_id();
  const int4 grid = plan_ways[plan];
  for (int goal = lane(); goal < NUM_PLACES; goal += num_lanes()) {
    const Field field{open_cells + grid.x / NUM_PLACES, way_metres + grid.x + goal * grid.w, grid.y, grid.z};
    const float2 place = way_places[plan * NUM_PLACES + goal];
    if (!begin(field, place, WAY_REACH)) begin(field, place, WAY_CORNER);
    for (int order = 0, still = 0; still < 4; order = (order + 1) % 4)  // until a sweep in each order changes nothing
      still = sweep(field, order % 2 == 0, order < 2) ? 0 : still + 1;
  }
}
