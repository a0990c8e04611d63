// Walking to a goal in a home: one agent is paid when it gets there. Rules: waypoint.py and point_goal.py.
//
// Arrays: per env (one agent) positions, velocity, angles, angvelocity, plan, goal, limit (steps of this episode), and
// start_position and start_angle, in whose frame the goal is shown where FIXED_FRAME. `move` moves the agent, pays it and
// shows it the goal; `see` draws what its camera sees; `wake` puts an agent into a random place of a random plan and
// draws a goal.
#include <indoor.cuh>
#include <warpworld.cuh>

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

// A vector of the world in the frame of somebody who looks along `angle`.
__device__ void show_vector(float2 vector, float angle, float* shown) {
  using namespace plane;
  const float2 ahead = direction_of(angle);
  shown[0] = dot(vector, ahead);
  shown[1] = dot(vector, left_of(ahead));
}

__device__ void show_goal(const float2* positions, const float* angles, const float2* goal, const float2* start_position,
                          const float* start_angle, float* observations_goal) {
  using namespace plane;
  const int i = agent_index();
  if (FIXED_FRAME)
    show_vector(goal[i] - start_position[i], start_angle[i], observations_goal + 2 * i);
  else
    show_vector(goal[i] - positions[i], angles[i], observations_goal + 2 * i);
}

extern "C" __global__ void move(float2* positions, float2* velocity, float* angles, float* angvelocity,
                                float* observations_imu, float* observations_goal, float* rewards, bool* terminated,
                                bool* truncated, const float2* goal, const float2* start_position,
                                const float* start_angle, const int* limit, const int* actions, const int* timestep,
                                const int* plan, const float4* plan_walls, const int* plan_first_wall, float accel,
                                float ang_accel, float decay, float fps, float goal_radius) {
  if (!is_active()) return;
  using namespace plane;
  const int i = agent_index(), first = plan_first_wall[plan[i]];
  const Motions motions{positions, velocity, angles, angvelocity};
  Motion motion = motions.load(i);
  push(motion, push_of(actions[i]), accel, ang_accel, decay, fps);
  walk(motion, Walls{plan_walls + first, plan_first_wall[plan[i] + 1] - first}, fps);
  motions.store(i, motion);
  feel(motion, observations_imu + 3 * i);
  show_goal(positions, angles, goal, start_position, start_angle, observations_goal);
  const bool there = length(goal[i] - motion.position) < goal_radius;
  rewards[i] = there ? 1.0f : 0.0f;
  terminated[i] = there;
  truncated[i] = timestep[i] >= limit[i];
}

extern "C" __global__ void wake(float2* positions, float2* velocity, float* angles, float* angvelocity,
                                float* observations_imu, float* observations_goal, float2* goal, float2* start_position,
                                float* start_angle, int* limit, int* plan, const int* plan_first_room,
                                const int* room_first_cell, const float2* plan_cells, int num_plans,
                                int episode_length) {
  if (!is_active()) return;
  const int i = agent_index();
  Random random = Random::agent();
  plan[i] = (int)random.below((uint32_t)num_plans);
  const Rooms rooms = rooms_of(plan[i], plan_first_room, room_first_cell, plan_cells);
  const float2 place = place_anywhere(rooms, random);
  const Motion motion{place, make_float2(0.0f, 0.0f), random.uniform(-180.0f, 180.0f), 0.0f};
  Motions{positions, velocity, angles, angvelocity}.store(i, motion);
  start_position[i] = motion.position;
  start_angle[i] = motion.angle;
  goal[i] = draw_goal(rooms, place, random);
  const int half = episode_length / 2;
  limit[i] = episode_length - half + (int)random.below((uint32_t)half + 1u);
  feel(motion, observations_imu + 3 * i);
  show_goal(positions, angles, goal, start_position, start_angle, observations_goal);
}

extern "C" __global__ void see(const float2* positions, const float* angles, float* observations_rgb,
                               float* observations_depth, const int* plan, const float4* plan_walls,
                               const int* plan_first_wall, const int* wall_first_texel, const unsigned* wall_texels,
                               float tan_half_fov) {
  if (!is_active()) return;
  using Eye = raycast::Eye<RES, MOST_WALLS>;
  ENV_SHARED(Eye, eye, 1);
  const int env = env_id();
  const Camera camera{positions[env], direction_of(angles[env]), tan_half_fov};
  const Surfaces surfaces = surfaces_of(plan[env], plan_walls, plan_first_wall, wall_first_texel, wall_texels);
  look(eye[0], camera, surfaces.walls, nullptr, 0);
  show<SUBSAMPLE>(eye[0], camera, surfaces, nullptr, observations_rgb + env * 3 * PIXELS,
                  observations_depth + env * PIXELS, Unseen(), [](int, int) {});
}
