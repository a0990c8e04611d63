// Agents that walk through floor plans and look around: movement, senses, and what they look like. The
// units are metres, seconds and degrees; angles are counter-clockwise from +x.
#pragma once

#include "plan.cuh"
#include "raycast.cuh"

constexpr float AGENT_WIDTH = 0.15f, AGENT_RADIUS = 0.106066f;
constexpr float MAX_DEPTH = 10.0f;         // metres at which depth observations reach 0
constexpr float DEGREES = 0.0174532925f;   // radians

struct Motion {
  float2 position, velocity;  // of the world, not of the body
  float angle, angvelocity;
  float2 moved;  // metres a second over the last step, contacts included: `velocity` is what is left after them
};

// The arrays that hold agents' motion: what kernels take by value to move agents.
struct Motions {
  float2 *positions, *velocity;
  float *angles, *angvelocity;
  float2* moved;

  WW_METHOD Motion load(int i) const {
    return Motion{positions[i], velocity[i], angles[i], angvelocity[i], moved[i]};
  }
  WW_METHOD void store(int i, const Motion& motion) const {
    positions[i] = motion.position;
    velocity[i] = motion.velocity;
    angles[i] = motion.angle;
    angvelocity[i] = motion.angvelocity;
    moved[i] = motion.moved;
  }
};

WW_FUNCTION float2 direction_of(float angle) { return make_float2(cosf(angle * DEGREES), sinf(angle * DEGREES)); }

// Into -180 .. 180.
WW_FUNCTION float wrapped(float angle) { return angle - 360.0f * floorf((angle + 180.0f) * (1.0f / 360.0f)); }

// Pushes of the seven actions: 0 nothing, 1 to the left, 2 to the right, 3 forward, 4 back, 5 turn left, 6 turn right.
struct Push {
  float forward, left, turn;  // -1, 0 or 1
};
WW_FUNCTION Push push_of(int action) {
  return Push{(float)((action == 3) - (action == 4)), (float)((action == 1) - (action == 2)),
              (float)((action == 5) - (action == 6))};
}

// How pushes move a body: what kernels take by value of the parameters.
struct Inertia {
  float accel;      // metres / s^2, of a push
  float ang_accel;  // degrees / s^2
  float decay;      // share of the speed that is lost in a step
  float fps;        // steps a second
};

// A body with inertia: its speed decays, and pushes add to it.
WW_FUNCTION void push(Motion& motion, const Push& by, const Inertia& inertia) {
  using namespace plane;
  const float2 ahead = direction_of(motion.angle);
  const float2 pushed = by.forward * ahead + by.left * left_of(ahead);
  motion.velocity = (1.0f - inertia.decay) * motion.velocity + (inertia.accel / inertia.fps) * pushed;
  motion.angvelocity = (1.0f - inertia.decay) * motion.angvelocity + inertia.ang_accel / inertia.fps * by.turn;
}

// One step of 1 / fps seconds; whether the agent touched something. All lanes of the env that have an agent call it.
WW_FUNCTION bool walk(Motion& motion, const Walls& walls, float fps) {
  using namespace plane;
  Disc disc{motion.position, motion.velocity};
  const bool touched = move_disc(disc, walls, AGENT_RADIUS, 1.0f / fps);
  motion.moved = fps * (disc.position - motion.position);
  motion.position = disc.position;
  motion.velocity = disc.velocity;
  motion.angle = wrapped(motion.angle + motion.angvelocity / fps);
  return touched;
}

// What became of agents' steps: what kernels take by value to report it.
struct Outcomes {
  bool* collided;
  float* progress;
};

// As above; also reports whether the agent touched something, and how far it came, as a share of the way that its
// velocity would have taken it: 1 where it touched nothing, or had no velocity.
WW_FUNCTION void walk(Motion& motion, const Walls& walls, float fps, const Outcomes& outcomes) {
  using namespace plane;
  const float2 from = motion.position;
  const float intended = length(motion.velocity) / fps;
  const bool touched = walk(motion, walls, fps);
  const bool held_up = touched && intended > 0.0f;
  outcomes.collided[agent_index()] = touched;
  outcomes.progress[agent_index()] = held_up ? smaller(length(motion.position - from) / intended, 1.0f) : 1.0f;
}

// What an agent senses of its own motion: turn rate, and its speed forward and to the left, each of about 1. It is how the
// agent moved in this step, along walls too, so that the sum over steps is the way from where it started.
WW_FUNCTION void feel(const Motion& motion, float* imu) {
  using namespace plane;
  const float2 ahead = direction_of(motion.angle);
  imu[0] = motion.angvelocity * (1.0f / 360.0f);
  imu[1] = dot(motion.moved, ahead) * 0.1f;
  imu[2] = dot(motion.moved, left_of(ahead)) * 0.1f;
}

// What the cameras of all envs look at, and from where: what kernels take by value to see.
struct Scene {
  const float2* positions;
  const float* angles;  // degrees
  const int* plan;      // of each env
  Plans plans;
  float tan_half_fov;
};

// The camera of the only agent of this env.
WW_FUNCTION Camera camera_of(const Scene& scene) {
  return Camera{scene.positions[env_id()], direction_of(scene.angles[env_id()]), scene.tan_half_fov};
}
WW_FUNCTION Surfaces surfaces_of(const Scene& scene) { return surfaces_of(scene.plans, scene.plan[env_id()]); }

// An agent's linear colours, as a texel: the front and the back dark, the right side green, the left side red, as on ships.
WW_FUNCTION unsigned facet_texel(int facet) {
  const unsigned dark = 512u | 512u << 11 | 256u << 22, green = 1024u << 11, red = 2047u;
  return facet == 1 || facet == 7 ? green : facet == 3 || facet == 5 ? red : dark;
}

// How a depth in metres is observed: 1 at the agent's skin, 0 at MAX_DEPTH and beyond.
WW_FUNCTION float nearness(float depth) {
  return 1.0f - plane::clamped((depth - AGENT_RADIUS) * (1.0f / MAX_DEPTH), 0.0f, 1.0f);
}

// What neighbouring rays hit, lit; rays of a batch are drawn at once where lanes take turns.
template <int Count>
struct Rays {
  float red[Count], green[Count], blue[Count], near[Count], agent[Count];
  int object[Count], texel[Count];  // texel of all plans, -1 where the object is no wall
};

template <int Count, int Res, int MostWalls>
WW_FUNCTION void shade(Rays<Count>& rays, const raycast::Eye<Res, MostWalls>& eye, const Camera& camera,
                       const Surfaces& surfaces, const float* brightness, int first) {
  for (int i = 0; i < Count; ++i) {
    const Hit hit = hit_of(eye, camera, first + i);
    const int wall = hit.object - NUM_AGENTS;
    const bool is_wall = wall >= 0, is_agent = !is_wall && hit.object >= 0;
    const int texel = texel_at(surfaces, is_wall ? wall : 0, hit.along);
    float light = hit.object < 0 ? 0.0f : hit.facing;
    unsigned color = surfaces.texels[texel];
    if (NUM_AGENTS > 1) {
      light *= is_agent ? brightness[is_agent ? hit.object : 0] : 1.0f;
      color = is_agent ? facet_texel(hit.facet) : color;
    }
    const float3 lit = color_of(color);
    rays.red[i] = light * lit.x;
    rays.green[i] = light * lit.y;
    rays.blue[i] = light * lit.z;
    rays.near[i] = nearness(hit.depth);
    rays.agent[i] = is_agent ? 1.0f : 0.0f;
    rays.object[i] = hit.object;
    rays.texel[i] = is_wall ? texel : -1;
  }
}

template <int Subsample>
WW_FUNCTION float mean_of(const float* values) {
  float sum = 0.0f;
  for (int i = 0; i < Subsample; ++i) sum += values[i];
  return sum * (1.0f / (float)Subsample);
}

// Stands for an array of pixels that is not wanted.
struct Unseen {
  struct Pixel {
    WW_METHOD void operator=(float) const {}
  };
  WW_METHOD Pixel operator[](int) const { return Pixel(); }
  WW_METHOD Unseen operator+(int) const { return *this; }
};

// What a camera shows an agent: `rgb` (3, pixels) lit linear colours 0 .. 1, `depth` (pixels), and `agents` (pixels), 1
// where other agents are and 0 elsewhere; each the mean of `Subsample` neighbouring rays, and any may be Unseen(). All
// lanes of the env share the pixels, after look(). brightness: of the light that falls on each agent, 0 .. 1.
// on_rays(rays) is called for all Rays, some neighbours at a time; the texel is -1 where one hits no wall. `row` is from
// one colour to the next in `rgb`, where that has more pixels than this camera's.
template <int Subsample, int Res, int MostWalls, class Rgb, class Depth, class Agents, class OnRays>
WW_FUNCTION void show(const raycast::Eye<Res, MostWalls>& eye, const Camera& camera, const Surfaces& surfaces,
                      const float* brightness, Rgb rgb, Depth depth, Agents agents, OnRays on_rays,
                      int row = Res / Subsample) {
  static_assert(Res % Subsample == 0, "the rays of a camera must be a multiple of its subsample");
  constexpr int pixels = Res / Subsample;
  constexpr int batch = LANES_SIDE_BY_SIDE ? 1 : pixels % 16 == 0 ? 16 : pixels % 4 == 0 ? 4 : 1;  // pixels drawn at once
  const raycast::Share mine = raycast::share_of(pixels / batch);
  for (int first = mine.first; first < mine.end; first += mine.step) {
    Rays<batch * Subsample> rays;
    shade(rays, eye, camera, surfaces, brightness, first * batch * Subsample);
    for (int i = 0; i < batch; ++i) {
      const int pixel = first * batch + i;
      rgb[pixel] = mean_of<Subsample>(rays.red + i * Subsample);
      rgb[row + pixel] = mean_of<Subsample>(rays.green + i * Subsample);
      rgb[2 * row + pixel] = mean_of<Subsample>(rays.blue + i * Subsample);
      depth[pixel] = mean_of<Subsample>(rays.near + i * Subsample);
      agents[pixel] = mean_of<Subsample>(rays.agent + i * Subsample);
    }
    on_rays(rays);
  }
}
