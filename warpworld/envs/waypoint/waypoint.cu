// Walking to a goal in a home: one agent is paid when it gets there. Rules: waypoint.py and point_goal.py.
//
// Arrays: per env (one agent) positions, velocity, angles, angvelocity, moved, plan, goal, limit (steps of this episode),
// and start_position and start_angle, in whose frame the goal is shown where FIXED_FRAME. `move` moves the agent, pays it
// and shows it the goal; `see` draws what its camera sees; `wake` puts an agent into a random place of a random plan and
// draws a goal. Goals at some way away have kernels of their own, below.
#include <warpworld.cuh>
#include <ways.cuh>

#include "scripts.cuh"

// What pays an agent, and how it is shown.
struct Goals {
  float2 *goal, *start_position;
  float* start_angle;
  int* limit;
  float* observations_goal;
};

constexpr int CANDIDATES = 10;  // places of which one becomes the goal, rather one that is about 1 m away

// What speaks for a goal at this distance: exp(-10 |log10(metres)|), between 1 cm and 100 m.
__device__ float weight_of(float distance) {
  const float decades = plane::clamped(log10f(plane::larger(distance, 1e-6f)), -2.0f, 2.0f);
  return expf(-10.0f * fabsf(decades));
}

__device__ float2 draw_goal(const Rooms& rooms, float2 from, Random& random) {
  using namespace plane;
  float2 chosen = from;
  float total = 0.0f;
  for (int i = 0; i < CANDIDATES; ++i) {  // each takes the place of those before it with its share of the weight so far
    const float2 candidate = place_anywhere(rooms, random);
    const float weight = weight_of(length(candidate - from));
    total += weight;
    if (random.uniform() * total < weight) chosen = candidate;
  }
  return chosen;
}

// A vector of the world in the frame of an agent that looks along `angle`.
__device__ void show_vector(float2 vector, float angle, float* shown) {
  using namespace plane;
  const float2 ahead = direction_of(angle);
  shown[0] = dot(vector, ahead);
  shown[1] = dot(vector, left_of(ahead));
}

__device__ void show_goal(const Goals& goals, const Motion& motion) {
  using namespace plane;
  const int i = agent_index();
  if (FIXED_FRAME)
    show_vector(goals.goal[i] - goals.start_position[i], goals.start_angle[i], goals.observations_goal + 2 * i);
  else
    show_vector(goals.goal[i] - motion.position, motion.angle, goals.observations_goal + 2 * i);
}

// Moves the agent, and shows it its motion and the goal; whether it is there.
__device__ bool advance(const Motions& motions, const Goals& goals, float* observations_imu, int action,
                        const Walls& walls, const Inertia& inertia, float goal_radius) {
  using namespace plane;
  const int i = agent_index();
  Motion motion = motions.load(i);
  push(motion, push_of(action), inertia);
  walk(motion, walls, inertia.fps);
  motions.store(i, motion);
  feel(motion, observations_imu + 3 * i);
  show_goal(goals, motion);
  return length(goals.goal[i] - motion.position) < goal_radius;
}

// Begins an episode at a place and with a goal.
__device__ void begin(const Motions& motions, const Goals& goals, float* observations_imu, const Motion& motion,
                      float2 goal, int episode_length, Random& random) {
  const int i = agent_index();
  motions.store(i, motion);
  goals.start_position[i] = motion.position;
  goals.start_angle[i] = motion.angle;
  goals.goal[i] = goal;
  const int half = episode_length / 2;
  goals.limit[i] = episode_length - half + (int)random.below((uint32_t)half + 1u);
  feel(motion, observations_imu + 3 * i);
  show_goal(goals, motion);
}

__device__ Motion at_rest(float2 place, Random& random) {
  const float2 rest = make_float2(0.0f, 0.0f);
  return Motion{place, rest, random.uniform(-180.0f, 180.0f), 0.0f, rest};
}

extern "C" __global__ void move(Motions motions, Goals goals, float* observations_imu, float* rewards, bool* terminated,
                                bool* truncated, const int* actions, const int* timestep, const int* plan, Plans plans,
                                Inertia inertia, float goal_radius) {
  if (!is_active()) return;
  const int i = agent_index();
  const Walls walls = walls_of(plans, plan[i]);
  const bool there = advance(motions, goals, observations_imu, actions[i], walls, inertia, goal_radius);
  rewards[i] = there ? 1.0f : 0.0f;
  terminated[i] = there;
  truncated[i] = timestep[i] >= goals.limit[i];
}

extern "C" __global__ void wake(Motions motions, Goals goals, float* observations_imu, int* plan, Plans plans,
                                int num_plans, int episode_length) {
  if (!is_active()) return;
  const int i = agent_index();
  Random random = Random::agent();
  plan[i] = (int)random.below((uint32_t)num_plans);
  const Rooms rooms = rooms_of(plans, plan[i]);
  const float2 place = place_anywhere(rooms, random);
  const Motion motion = at_rest(place, random);
  const float2 goal = draw_goal(rooms, place, random);
  begin(motions, goals, observations_imu, motion, goal, episode_length, random);
}

extern "C" __global__ void see(Scene scene, Pixel* observations_rgb, Pixel* observations_depth) {
  if (!is_active()) return;
  using Eye = raycast::Eye<RES, MOST_WALLS>;
  ENV_SHARED(Eye, eye, 1);
  const int env = env_id();
  const Camera camera = camera_of(scene);
  const Surfaces surfaces = surfaces_of(scene);
  look(eye[0], camera, surfaces.walls, nullptr, 0);
  show<SUBSAMPLE>(eye[0], camera, surfaces, nullptr, observations_rgb + env * 3 * PIXELS,
                  observations_depth + env * PIXELS, Unseen(), [](const auto&) {});
}

// ---- goals at some way away -----------------------------------------------------------------------------------------
//
// Arrays, beside those above: per env goal_place, which of its plan's places the goal is; way and shortest, metres of the
// shortest way to it from here and from the start; walked, metres; reached, 0 or 1; spl, success weighted by path length:
// the shortest way as a share of what was walked, 0 if the goal was not reached. Of the world shaping, paid for each metre
// that the way has become shorter. A step is `move_far`, for agents that see their goal once `fix`, and `see`; an episode
// begins with `wake_far`, `fix` and `see`.

constexpr int STARTS = 64;  // places of which the first at the right distance becomes the start

struct Journey {
  int* goal_place;
  float *way, *shortest, *walked, *reached, *spl;
  const float* shaping;
};

extern "C" __global__ void move_far(Motions motions, Goals goals, Journey journey, float* observations_imu,
                                    float* rewards, bool* terminated, bool* truncated, const int* actions,
                                    const int* timestep, const int* plan, Plans plans, Ways ways, Inertia inertia,
                                    float goal_radius) {
  if (!is_active()) return;
  using namespace plane;
  const int i = agent_index();
  const float2 from = motions.positions[i];
  const Walls walls = walls_of(plans, plan[i]);
  const bool there = advance(motions, goals, observations_imu, actions[i], walls, inertia, goal_radius);
  const float2 place = motions.positions[i];
  const float found = way_to_place(ways, plan[i], journey.goal_place[i], place);
  const float way = found < FAR_OFF ? found : journey.way[i];  // in a nook between cells it is as it was before
  const float least = larger(journey.shortest[i] - goal_radius, 0.01f);  // metres that must be walked
  journey.walked[i] += length(place - from);
  journey.reached[i] = there ? 1.0f : 0.0f;
  journey.spl[i] = there ? least / larger(least, journey.walked[i]) : 0.0f;
  rewards[i] = (there ? 1.0f : 0.0f) + journey.shaping[0] * (journey.way[i] - way);
  journey.way[i] = way;
  terminated[i] = there;
  truncated[i] = timestep[i] >= goals.limit[i];
}

extern "C" __global__ void wake_far(Motions motions, Goals goals, Journey journey, float* observations_imu, int* plan,
                                    Plans plans, Ways ways, int num_plans, int episode_length, float least_way,
                                    float most_way) {
  if (!is_active()) return;
  using namespace plane;
  const int i = agent_index();
  Random random = Random::agent();
  plan[i] = (int)random.below((uint32_t)num_plans);
  const Rooms rooms = rooms_of(plans, plan[i]);
  const int goal = (int)random.below((uint32_t)ways.goal_places);
  float2 place = make_float2(0.0f, 0.0f);
  float way = FAR_OFF, off = 2.0f * FAR_OFF;  // metres by which the way is too short or too long
  for (int attempt = 0; attempt < STARTS && off > 0.0f; ++attempt) {
    const float2 candidate = place_anywhere(rooms, random);
    const float found = way_to_place(ways, plan[i], goal, candidate);
    const float by = larger(larger(least_way - found, found - most_way), 0.0f);
    if (by >= off) continue;
    place = candidate;
    way = found;
    off = by;
  }
  const float2 target = ways.way_places[plan[i] * ways.goal_places + goal];
  journey.goal_place[i] = goal;
  journey.way[i] = journey.shortest[i] = way < FAR_OFF ? way : length(target - place);
  journey.walked[i] = journey.reached[i] = journey.spl[i] = 0.0f;
  begin(motions, goals, observations_imu, at_rest(place, random), target, episode_length, random);
}

// With the probability `fixes` shows the goal anew, from where the agent is now; and how long ago that was. Where it is
// `shown_once` it is not shown in the steps between.
extern "C" __global__ void fix(Motions motions, Goals goals, const float* fixes, int* fixed_at,
                               float* observations_since, const int* timestep, bool shown_once) {
  if (!is_active()) return;
  const int i = agent_index();
  if (timestep[i] == 0) fixed_at[i] = 0;
  if (Random::agent().uniform() < fixes[0]) {
    const Motion motion = motions.load(i);
    goals.start_position[i] = motion.position;
    goals.start_angle[i] = motion.angle;
    fixed_at[i] = timestep[i];
    show_goal(goals, motion);
  }
  const int since = timestep[i] - fixed_at[i];
  observations_since[i] = 0.02f * (float)since;
  if (shown_once && since > 0) goals.observations_goal[2 * i] = goals.observations_goal[2 * i + 1] = 0.0f;
}

// ---- scripts --------------------------------------------------------------------------------------------------------
//
// Straight to the goal without turning, along the walls that stand between.
extern "C" __global__ void slide(Played played, Pushed body, const float2* goal, Inertia inertia) {
  if (!plays(played, agent_id())) return;
  choose(outputs_of(played, agent_id()), CHOICES, push_towards(body, goal[agent_index()], inertia));
}

// Along the field of shortest ways, without turning.
extern "C" __global__ void guide(Played played, Pushed body, const float2* goal, const int* plan, const int* goal_place,
                                 Ways ways, Inertia inertia) {
  if (!plays(played, agent_id())) return;
  const int i = agent_index();
  const int4 grid = ways.plan_ways[plan[i]];
  const Field field = {ways.way_fields + grid.x + goal_place[i] * grid.w, grid.y, grid.z};
  const float2 target = next_place(field, body.positions[i], goal[i]);
  choose(outputs_of(played, agent_id()), CHOICES, push_towards(body, target, inertia));
}
