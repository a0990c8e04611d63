// Exploring a home: one agent is paid for each piece of wall that it sees for the first time. Rules: explorer.py.
//
// Arrays: per env (one agent) positions, velocity, angles, angvelocity, plan; seen, a bit for each texel of the plan's walls;
// potential, how many of them are set; and share, how much that is of the texels that can be seen, whose bits stand in
// visible for every plan. `move` moves the agent; `see` draws what its camera sees into the observations, sets the bits of
// the texels in view, and pays for those that were not set; `wake` puts an agent into a random place of a random plan, and
// `see_first` shows it what there is, which is not paid.
#include <script.cuh>
#include <seen.cuh>
#include <warpworld.cuh>

using Eye = raycast::Eye<RES, MOST_WALLS>;

extern "C" __global__ void move(Motions motions, float* observations_imu, const int* actions, const int* plan,
                                Plans plans, Inertia inertia) {
  if (!is_active()) return;
  const int i = agent_index();
  Motion motion = motions.load(i);
  push(motion, push_of(actions[i]), inertia);
  walk(motion, walls_of(plans, plan[i]), inertia.fps);
  motions.store(i, motion);
  feel(motion, observations_imu + 3 * i);
}

// Draws the view and sets the bits of what is in it; how many bits are new.
__device__ int look_for_new(const Scene& scene, unsigned* seen, float* rgb, float* depth) {
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(int, found, 1);
  const Surfaces surfaces = surfaces_of(scene);
  const Camera camera = camera_of(scene);
  const int env = env_id(), first_texel = surfaces.first_texel[0];
  if (lane() == 0) found[0] = 0;
  look(eye[0], camera, surfaces.walls, nullptr, 0);
  unsigned* const own = seen + env * SEEN_WORDS;
  int fresh = 0;
  const auto on_rays = [&](const auto& rays) { fresh += mark_seen(own, first_texel, rays); };
  show<SUBSAMPLE>(eye[0], camera, surfaces, nullptr, rgb + env * 3 * PIXELS, depth + env * PIXELS, Unseen(), on_rays);
  if (fresh) atomicAdd(&found[0], fresh);
  sync_env();  // orders counting before the count is read
  return found[0];
}

// What has been seen of the texels that can be seen in the env's plan, 0 .. 1.
__device__ float share_of(const unsigned* seen, const unsigned* visible, int plan) {
  int of_them = 0, all = 0;
  for (int word = 0; word < SEEN_WORDS; ++word) {
    const unsigned there = visible[plan * SEEN_WORDS + word];
    of_them += __popc(seen[env_id() * SEEN_WORDS + word] & there);
    all += __popc(there);
  }
  return (float)of_them / (float)max(all, 1);
}

extern "C" __global__ void see(Scene scene, unsigned* seen, int* potential, const unsigned* visible, float* share,
                               float* observations_rgb, float* observations_depth, float* rewards, bool* terminated,
                               bool* truncated, const int* timestep, int patience, int episode_length) {
  if (!is_active()) return;
  const int env = env_id(), fresh = look_for_new(scene, seen, observations_rgb, observations_depth);
  if (lane() != 0) return;
  potential[env] += fresh;
  share[env] = share_of(seen, visible, scene.plan[env]);
  rewards[env] = (float)fresh * (1.0f / 64.0f);
  terminated[env] = timestep[env] >= potential[env] + patience;
  truncated[env] = timestep[env] >= episode_length;
}

extern "C" __global__ void wake(Motions motions, unsigned* seen, float* observations_imu, int* plan, Plans plans,
                                int num_plans) {
  if (!is_active()) return;
  const int i = agent_index();
  Random random = Random::agent();
  plan[i] = (int)random.below((uint32_t)num_plans);
  const float2 place = place_anywhere(rooms_of(plans, plan[i]), random);
  const float2 rest = make_float2(0.0f, 0.0f);
  const Motion motion{place, rest, random.uniform(-180.0f, 180.0f), 0.0f, rest};
  motions.store(i, motion);
  feel(motion, observations_imu + 3 * i);
  for (int word = 0; word < SEEN_WORDS; ++word) seen[i * SEEN_WORDS + word] = 0u;
}

extern "C" __global__ void see_first(Scene scene, unsigned* seen, int* potential, const unsigned* visible, float* share,
                                     float* observations_rgb, float* observations_depth) {
  if (!is_active()) return;
  const int env = env_id(), seen_first = look_for_new(scene, seen, observations_rgb, observations_depth);
  if (lane() != 0) return;
  potential[env] = seen_first;
  share[env] = share_of(seen, visible, scene.plan[env]);
}

// ---- the script ------------------------------------------------------------------------------------------------------
constexpr int CHOICES = 7, FORWARD = 3, LEFT = 5, RIGHT = 6;
constexpr float SIDE = 40.0f;   // degrees to each side in which it measures how much room there is
constexpr float ROOM = 1.0f;    // metres ahead below which it turns
constexpr float TURNS = 20.0f;  // degrees a second above which a turn has begun

// Metres to the nearest wall in a direction; infinite where there is none.
__device__ float room_towards(const Walls& walls, float2 place, float angle) {
  using namespace plane;
  const float2 ray = direction_of(angle);
  float nearest = INFINITY;
  for (int i = 0; i < walls.count; ++i) {
    const Segment wall = segment(walls.ends[i]);
    const float2 along = wall.b - wall.a, to_wall = wall.a - place;
    const float across = cross(ray, along), ahead = cross(to_wall, along) / across;
    const float at = cross(to_wall, ray) / across;
    if (ahead > 0.0f && at >= 0.0f && at <= 1.0f && ahead < nearest) nearest = ahead;
  }
  return nearest;
}

// Forward while there is room, else a turn to the side with more of it; a turn that has begun is finished.
extern "C" __global__ void wander(Played played, const float2* positions, const float* angles, const float* angvelocity,
                                  const int* plan, Plans plans) {
  if (!plays(played, agent_id())) return;
  const int env = env_id();
  const Walls walls = walls_of(plans, plan[env]);
  const float2 place = positions[env];
  const float ahead = room_towards(walls, place, angles[env]), turning = angvelocity[env];
  const float left = room_towards(walls, place, angles[env] + SIDE), right = room_towards(walls, place, angles[env] - SIDE);
  const bool has_begun = fabsf(turning) > TURNS;
  const int turn = (has_begun ? turning > 0.0f : left > right) ? LEFT : RIGHT;
  choose(outputs_of(played, agent_id()), CHOICES, ahead > ROOM ? FORWARD : turn);
}
