// Moves bodies that lie in one array per env, and keeps account in float64 of what must hold.
#include <joints.cuh>
#include <warpworld.cuh>

struct Store {
  float2 *position, *velocity;
  const float2* shape;
  const float* mass;
  int *held, *locked, *level;
  const int* uphill;
  const float4* walls;
  const float2* corners;  // (envs, 2) of the arena
};

struct Rules {
  float seconds, restitution, joint_length, joint_force, drag;
  int substeps;
};

// What STEPS_AT_A_TIME steps have come to.
struct Account {
  double *least_gap, *most_energy, *most_momentum;
  int *touches, *crossings, *broken, *moved_locks, *raised, *landed;
};

__device__ Bodies bodies_of(const Store& store) {
  const int first = env_id() * BODIES;
  Bodies all{store.position + first, store.velocity + first, store.shape + first, store.mass + first,
             store.held + first, store.locked + first, BODIES};
  if (CLIMBERS > 0) {
    all.climbers = CLIMBERS;
    all.level = store.level + first;
    all.uphill = store.uphill + first;
  }
  return all;
}
__device__ Arena arena_of(const Store& store) {
  return Arena{store.corners[2 * env_id()], store.corners[2 * env_id() + 1], store.walls + env_id() * WALLS, WALLS};
}
__device__ Motion motion_of(const Rules& rules) { return Motion{rules.seconds, rules.substeps, rules.restitution}; }
__device__ Joints joints_of(const Rules& rules) { return Joints{rules.joint_length, rules.joint_force}; }

extern "C" __global__ void move(Store store, Rules rules, const float2* force, int* broken, const int* timestep) {
  if (!is_active()) return;
  const Bodies all = bodies_of(store);
  for (int body = 0; body < BODIES; ++body)
    drive(all, body, force[env_id() * BODIES + body], rules.drag, rules.seconds);
  broken[env_id()] = move_bodies(all, arena_of(store), motion_of(rules), joints_of(rules), timestep[env_id()]);
}

// ---- an account ------------------------------------------------------------------------------------------------------
// Other than fmin() and fmax(), these keep what is no number, for good.
__device__ double lesser(double a, double b) { return a <= b || a != a ? a : b; }
__device__ double greater(double a, double b) { return a >= b || a != a ? a : b; }
__device__ double above_0(double x) { return x > 0.0 ? x : 0.0; }

// Between two bodies, or a body and a wall of a half size and no radius.
__device__ double gap(float2 p, float2 shape, float2 q, double half_x, double half_y, double radius) {
  const bool is_disc = shape.y == 0.0f;
  const double x = fabs((double)p.x - q.x) - half_x - (is_disc ? 0.0 : shape.x);
  const double y = fabs((double)p.y - q.y) - half_y - (is_disc ? 0.0 : shape.y);
  const double inside = x > y ? x : y;
  if (inside < 0.0) return inside - radius - (is_disc ? shape.x : 0.0);
  return sqrt(above_0(x) * above_0(x) + above_0(y) * above_0(y)) - radius - (is_disc ? shape.x : 0.0);
}

// Of a body to the edge and the walls, which a climber on level 1 may be above.
__device__ double clearance(const Bodies& all, const Arena& arena, int i) {
  const float2 p = all.position[i], shape = all.shape[i];
  const double half_x = shape.x, half_y = shape.y == 0.0f ? shape.x : shape.y;
  double least = lesser(lesser(p.x - half_x - arena.low.x, arena.high.x - half_x - p.x),
                        lesser(p.y - half_y - arena.low.y, arena.high.y - half_y - p.y));
  for (int w = 0; w < arena.num_walls && !bodies::is_raised(all, i); ++w) {
    const float4 wall = arena.walls[w];
    if (wall.z > 0.0f) least = lesser(least, gap(p, shape, make_float2(wall.x, wall.y), wall.z, wall.w, 0.0));
  }
  return least;
}

__device__ double least_gap(const Bodies& all, const Arena& arena) {
  double least = INFINITY;
  for (int i = 0; i < BODIES; ++i) {
    least = lesser(least, clearance(all, arena, i));
    for (int j = 0; j < i; ++j) {
      if (bodies::pass_each_other(all, i, j)) continue;
      const float2 other = all.shape[j];
      const bool is_disc = other.y == 0.0f;
      least = lesser(least, gap(all.position[i], all.shape[i], all.position[j], is_disc ? 0.0 : other.x,
                                is_disc ? 0.0 : other.y, is_disc ? other.x : 0.0));
    }
  }
  return least;
}

__device__ bool is_fixed(const Bodies& all, int i) { return all.locked[i] || all.mass[i] == INFINITY; }

struct Sums {
  double energy, x, y, size;  // joule; newton seconds, and the sum of their sizes
};
__device__ Sums sums_of(const Bodies& all) {
  Sums sums{};
  for (int i = 0; i < BODIES; ++i) {
    if (is_fixed(all, i)) continue;
    const double m = all.mass[i], x = all.velocity[i].x, y = all.velocity[i].y;
    sums.energy += 0.5 * m * (x * x + y * y);
    sums.x += m * x;
    sums.y += m * y;
    sums.size += m * sqrt(x * x + y * y);
  }
  return sums;
}

// Whether no body can reach the edge, a wall or a fixed body in a step, however much energy it gets.
__device__ bool are_alone(const Bodies& all, const Arena& arena, const Sums& sums, double seconds) {
  for (int i = 0; i < BODIES; ++i) {
    if (is_fixed(all, i)) return false;
    if (clearance(all, arena, i) <= 1.5 * seconds * sqrt(2.0 * sums.energy / all.mass[i])) return false;
  }
  return true;
}

// What bodies want: forces, a sudden speed, to hold and lock what is near.
__device__ void act(const Bodies& all, const Rules& rules, Random& random, float fastest) {
  for (int i = 0; i < BODIES; ++i) {
    const float2 force = make_float2(random.uniform(-40.0f, 40.0f), random.uniform(-40.0f, 40.0f));
    drive(all, i, force, rules.drag, rules.seconds);
    const unsigned event = random.below(100u);
    const int near = nearest_in_reach(all, i, 0.3f, 0, BODIES), team = 1 + (int)random.below(2u);
    if (event < 3u && !is_fixed(all, i))
      all.velocity[i] = make_float2(random.uniform(-fastest, fastest), random.uniform(-fastest, fastest));
    if (event >= 10u && event < 30u) hold(all, i, near);
    if (event >= 30u && event < 35u) let_go(all, i);
    if (event == 40u) lock(all, i, near, team);
    if (event >= 50u && near != NOTHING) unlock(all, near, team);
  }
}

// Bodies stay on their side of the line x = middle, where a wall is all along it.
extern "C" __global__ void fly(Store store, Rules rules, Account account, float fastest, const float* middle) {
  if (!is_active()) return;
  const int env = env_id();
  const Bodies all = bodies_of(store);
  const Arena arena = arena_of(store);
  Random random = Random::env();
  for (int step = 0; step < STEPS_AT_A_TIME; ++step) {
    act(all, rules, random, fastest);
    float2 before[BODIES];
    int levels = 0;
    for (int i = 0; i < BODIES; ++i) before[i] = all.position[i];
    for (int i = 0; i < CLIMBERS; ++i) levels += all.level[i];
    const Sums old = sums_of(all);
    const bool alone = are_alone(all, arena, old, rules.seconds);
    account.broken[env] += move_bodies(all, arena, motion_of(rules), joints_of(rules), step);
    for (int i = 0; i < CLIMBERS; ++i) levels -= all.level[i];
    account.raised[env] += levels < 0;
    account.landed[env] += levels > 0;
    const Sums now = sums_of(all);
    const double gap = least_gap(all, arena);
    account.least_gap[env] = lesser(account.least_gap[env], gap);
    account.most_energy[env] = greater(account.most_energy[env], (now.energy - old.energy) / greater(old.energy, 1e-12));
    const double off = sqrt((now.x - old.x) * (now.x - old.x) + (now.y - old.y) * (now.y - old.y));
    if (alone) account.most_momentum[env] = greater(account.most_momentum[env], off / greater(old.size, 1e-12));
    account.touches[env] += alone && now.energy < (1.0 - 1e-3) * old.energy;
    for (int i = 0; i < BODIES; ++i) {
      account.crossings[env] += (before[i].x < middle[env]) != (all.position[i].x < middle[env]);
      const bool went = before[i].x != all.position[i].x || before[i].y != all.position[i].y;
      account.moved_locks[env] += is_fixed(all, i) && went;
    }
  }
}
