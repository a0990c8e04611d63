// Walking to a goal in a home: one agent is paid when it gets there. Rules: waypoint.py and point_goal.py.
//
// Arrays: per env (one agent) positions, velocity, angles, angvelocity, plan, goal, limit (steps of this episode), and
// start_position and start_angle, in whose frame the goal is shown where FIXED_FRAME. `move` moves the agent, pays it and
// shows it the goal; `see` draws what its camera sees; `wake` puts an agent into a random place of a random plan and
// draws a goal.
#include <indoor.cuh>
#include <warpworld.cuh>

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

extern "C" __global__ void move(Motions motions, Goals goals, float* observations_imu, float* rewards, bool* terminated,
                                bool* truncated, const int* actions, const int* timestep, const int* plan, Plans plans,
                                Inertia inertia, float goal_radius) {
  if (!is_active()) return;
  using namespace plane;
  const int i = agent_index();
  Motion motion = motions.load(i);
  push(motion, push_of(actions[i]), inertia);
  walk(motion, walls_of(plans, plan[i]), inertia.fps);
  motions.store(i, motion);
  feel(motion, observations_imu + 3 * i);
  show_goal(goals, motion);
  const bool there = length(goals.goal[i] - motion.position) < goal_radius;
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
  const float2 rest = make_float2(0.0f, 0.0f);
  const Motion motion{place, rest, random.uniform(-180.0f, 180.0f), 0.0f, rest};
  motions.store(i, motion);
  goals.start_position[i] = motion.position;
  goals.start_angle[i] = motion.angle;
  goals.goal[i] = draw_goal(rooms, place, random);
  const int half = episode_length / 2;
  goals.limit[i] = episode_length - half + (int)random.below((uint32_t)half + 1u);
  feel(motion, observations_imu + 3 * i);
  show_goal(goals, motion);
}

extern "C" __global__ void see(Scene scene, float* observations_rgb, float* observations_depth) {
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
