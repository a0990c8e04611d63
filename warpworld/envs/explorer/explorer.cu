// Exploring a home: one agent is paid for each piece of wall that it sees for the first time. Rules: explorer.py.
//
// Arrays: per env (one agent) positions, velocity, angles, angvelocity, plan; seen, a bit for each texel of the plan's walls;
// potential, how many of them are set; potential_visible, how many of those can be seen from where agents may be; and share,
// that by all that can. Per plan visible, a bit for each texel that can be seen, and visible_texels, how many there are.
// `move` moves the agent; `see` draws what its camera sees into the observations, sets the bits of the texels in view, and
// pays for those that were not set; `wake` puts an agent into a random place of a random plan, and `see_first` shows it what
// there is, which is not paid.
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

// What has been seen, and what can be: what kernels take by value.
struct Sights {
  unsigned* seen;
  int *potential, *potential_visible;
  const unsigned* visible;
  const int* visible_texels;
  float* share;
};

// Texels that were not seen before, and how many of them can be seen from where agents may be.
struct Fresh {
  int all, visible;
};

// Draws the view and sets the bits of what is in it.
__device__ Fresh look_for_new(const Scene& scene, const Sights& sights, Pixel* rgb, Pixel* depth) {
  ENV_SHARED(Eye, eye, 1);
  ENV_SHARED(Fresh, found, 1);
  const Surfaces surfaces = surfaces_of(scene);
  const Camera camera = camera_of(scene);
  const int env = env_id(), first_texel = surfaces.first_texel[0];
  if (lane() == 0) found[0] = Fresh{0, 0};
  look(eye[0], camera, surfaces.walls, nullptr, 0);
  unsigned* const own = sights.seen + env * SEEN_WORDS;
  const unsigned* const visible = sights.visible + scene.plan[env] * SEEN_WORDS;
  Fresh fresh{0, 0};
  const auto on_new = [&](unsigned word, unsigned bit) {
    ++fresh.all;
    fresh.visible += (visible[word] & bit) != 0u;
  };
  const auto on_rays = [&](const auto& rays) { mark_seen(own, first_texel, rays, on_new); };
  show<SUBSAMPLE>(eye[0], camera, surfaces, nullptr, rgb + env * 3 * PIXELS, depth + env * PIXELS, Unseen(), on_rays);
  if (fresh.all) {
    atomicAdd(&found[0].all, fresh.all);
    atomicAdd(&found[0].visible, fresh.visible);
  }
  sync_env();  // orders counting before the counts are read
  return found[0];
}

// Writes what the agent has seen in its episode.
__device__ void count(const Sights& sights, int env, int plan, Fresh seen) {
  sights.potential[env] = seen.all;
  sights.potential_visible[env] = seen.visible;
  sights.share[env] = (float)seen.visible / (float)max(sights.visible_texels[plan], 1);
}

extern "C" __global__ void see(Scene scene, Sights sights, Pixel* observations_rgb, Pixel* observations_depth,
                               float* rewards, bool* terminated, bool* truncated, const int* timestep, int patience,
                               int episode_length) {
  if (!is_active()) return;
  const int env = env_id();
  const Fresh fresh = look_for_new(scene, sights, observations_rgb, observations_depth);
  if (lane() != 0) return;
  const Fresh seen{sights.potential[env] + fresh.all, sights.potential_visible[env] + fresh.visible};
  count(sights, env, scene.plan[env], seen);
  rewards[env] = (float)fresh.all * (1.0f / 64.0f);
  terminated[env] = timestep[env] >= seen.all + patience;
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

extern "C" __global__ void see_first(Scene scene, Sights sights, Pixel* observations_rgb, Pixel* observations_depth) {
  if (!is_active()) return;
  const int env = env_id();
  const Fresh seen = look_for_new(scene, sights, observations_rgb, observations_depth);
  if (lane() == 0) count(sights, env, scene.plan[env], seen);
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
