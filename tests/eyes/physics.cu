// Moves discs among walls that lie in one array per env, and keeps account of their paths in float64.
#include <physics.cuh>
#include <warpworld.cuh>

struct Point {
  double x, y;
};
__device__ Point point(float2 p) { return Point{p.x, p.y}; }

__device__ double square_distance(Point p, Point a, Point b) {
  const double x = b.x - a.x, y = b.y - a.y, square = x * x + y * y;
  double t = square > 0.0 ? ((p.x - a.x) * x + (p.y - a.y) * y) / square : 0.0;
  t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
  const double dx = p.x - a.x - t * x, dy = p.y - a.y - t * y;
  return dx * dx + dy * dy;
}

__device__ double turn(Point a, Point b, Point c) { return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x); }

// Other than fmin() and fmax(), these keep what is no number, for good.
__device__ double lesser(double a, double b) { return a <= b || a != a ? a : b; }
__device__ double greater(double a, double b) { return a >= b || a != a ? a : b; }

// Between two segments; 0 where they cross.
__device__ double distance(Point a, Point b, Point c, Point d) {
  if (turn(a, b, c) * turn(a, b, d) < 0.0 && turn(c, d, a) * turn(c, d, b) < 0.0) return 0.0;
  const double from_a = square_distance(a, c, d), from_b = square_distance(b, c, d);
  const double from_c = square_distance(c, a, b), from_d = square_distance(d, a, b);
  return sqrt(lesser(lesser(from_a, from_b), lesser(from_c, from_d)));
}

// A straight piece of a disc's path.
struct Piece {
  Point from, to;
};

// The least distance of two points that move along their pieces in the same time.
__device__ double gap_between(Piece one, Piece other) {
  const Point from{one.from.x - other.from.x, one.from.y - other.from.y};
  const Point to{one.to.x - other.to.x, one.to.y - other.to.y};
  return sqrt(square_distance(Point{0.0, 0.0}, from, to));
}

// Also writes the least distance of the path, from the disc's old place on, to a wall, and to another disc from where
// overlaps have been undone on; and where the path first bends.
__device__ void move_and_watch(float2* position, float2* velocity, bool* touched, double* clearance, double* gap,
                               float2* first_stop, const float4* walls, int num_walls, float radius, float restitution,
                               float seconds) {
  ENV_SHARED(Piece, pieces, NUM_AGENTS);
  const int i = agent_index(), self = agent_id();
  Disc disc{position[i], velocity[i]};
  double nearest_wall = INFINITY, nearest_disc = INFINITY;
  bool first = true;
  const auto pass_walls = [&](float2 from, float2 to) {
    for (int w = 0; w < num_walls; ++w) {
      const Point c{walls[w].x, walls[w].y}, d{walls[w].z, walls[w].w};
      nearest_wall = lesser(nearest_wall, distance(point(from), point(to), c, d));
    }
  };
  const auto watch = [&](float2 from, float2 to) {
    if (first) {
      pass_walls(position[i], from);
      first_stop[i] = to;
    }
    first = false;
    pass_walls(from, to);
    pieces[self] = Piece{point(from), point(to)};
    sync_env();  // orders everybody's pieces, which take the same time, before they are compared
    for (int other = 0; other < NUM_AGENTS; ++other)
      if (other != self) nearest_disc = lesser(nearest_disc, gap_between(pieces[self], pieces[other]));
    sync_env();  // orders comparing before the next pieces
  };
  touched[i] = move_disc(disc, Walls{walls, num_walls}, radius, seconds, restitution, watch);
  position[i] = disc.position;
  velocity[i] = disc.velocity;
  clearance[i] = nearest_wall;
  gap[i] = nearest_disc;
}

extern "C" __global__ void move(float2* position, float2* velocity, bool* touched, double* clearance, double* gap,
                                float2* first_stop, const float4* walls, const int* num_walls, float radius,
                                float restitution, float seconds) {
  if (!is_active()) return;
  move_and_watch(position, velocity, touched, clearance, gap, first_stop, walls + env_id() * MOST_WALLS,
                 num_walls[env_id()], radius, restitution, seconds);
}

// STEPS_AT_A_TIME steps of discs that fly at random, half of them always on in the direction that they have, a tenth of
// them at top speed: the least distance that a piece of a path had to a wall and to a disc, how many steps have touched
// something, and the most energy that a step has added.
extern "C" __global__ void fly(float2* position, float2* velocity, bool* touched, double* clearance, double* gap,
                               float2* first_stop, double* least_clearance, double* least_gap, double* most_energy,
                               int* touches, const float4* walls, const int* num_walls, float radius, float restitution,
                               float seconds, float fastest) {
  if (!is_active()) return;
  ENV_SHARED(double, energies, NUM_AGENTS);
  const int i = agent_index(), self = agent_id(), first = env_id() * NUM_AGENTS;
  Random random = Random::agent();
  const auto energy = [&](int j) { return (double)velocity[j].x * velocity[j].x + (double)velocity[j].y * velocity[j].y; };
  for (int step = 0; step < STEPS_AT_A_TIME; ++step) {
    const float angle = random.uniform(0.0f, 6.2831853f), share = random.uniform() * random.uniform();
    const float speed = random.below(10u) == 0 ? fastest : fastest * share;
    const bool turns = random.below(self % 2 ? 2u : 40u) == 0 || (velocity[i].x == 0.0f && velocity[i].y == 0.0f);
    if (turns) velocity[i] = make_float2(speed * cosf(angle), speed * sinf(angle));
    energies[self] = energy(i);
    sync_env();  // orders all velocities before they are summed
    double before = 0.0, after = 0.0;
    for (int j = 0; j < NUM_AGENTS; ++j) before += energies[j];
    move_and_watch(position, velocity, touched, clearance, gap, first_stop, walls + env_id() * MOST_WALLS,
                   num_walls[env_id()], radius, restitution, seconds);
    least_clearance[i] = lesser(least_clearance[i], clearance[i]);
    least_gap[i] = lesser(least_gap[i], gap[i]);
    touches[i] += touched[i];
    sync_env();  // orders all velocities before they are summed
    for (int j = 0; j < NUM_AGENTS; ++j) after += energy(first + j);
    most_energy[i] = greater(most_energy[i], (after - before) / greater(before, 1e-12));
    sync_env();  // orders looking before the next step
  }
}
