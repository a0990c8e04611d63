// Deathmatch by the rules that megastep has it by, to compare what can be learned of them; each of their suspected
// faults can be fixed by itself (megastep_rules.py lists them).
#pragma once

#include "sight.cuh"

constexpr float MEGASTEP_DAMAGE = 0.05f;  // of health, by a hit, and by a step outside of the plan
constexpr float MEGASTEP_LIFE = 1.0f / MEGASTEP_DAMAGE;  // hits that take all of it
constexpr float MEGASTEP_DECAY = 0.001f;  // of health, by any step
constexpr int NOBODY = -1;

// Whom each agent shoots at; the second one is another than the first.
struct Targets {
  int first[NUM_AGENTS], second[NUM_AGENTS];
  bool dies[NUM_AGENTS];
};

// The numbers of these rules, and which of their suspected faults are fixed.
struct MegastepRules {
  Inertia inertia;
  Gun gun;
  float tan_half_fov, kill_reward;
  int episode_length;
  bool mend_bounds, mend_reward, mend_aim, mend_credit, mend_spawns;
};

// The poses that agents wake up in, the plan that these are in, -1 before they are drawn, and how large plans are.
struct Spawns {
  float2* spawn_positions;
  float* spawn_angles;
  int* spawn_plan;
  const float2* plan_extent;
};

// The agent that a ray of a camera hits before any wall and any other agent, or NOBODY.
__device__ int shown_by(const Motion& motion, int ray, const Walls& walls, const float2* positions, const float* angles,
                        float tan_half_fov) {
  using namespace plane;
  const Camera camera{motion.position, direction_of(motion.angle), tan_half_fov};
  const float2 direction = camera.forward + raycast::image_of(camera, ray, RES) * left_of(camera.forward);
  float nearest = way_to(walls, motion.position, direction);
  int shown = NOBODY;
  for (int facet = 0; facet < raycast::FACETS * NUM_AGENTS; ++facet) {
    const int other = facet / raycast::FACETS;
    if (other == agent_id()) continue;
    const Body body{positions[other], direction_of(angles[other]), AGENT_WIDTH};
    const float way = way_to(raycast::facet_of(body, facet % raycast::FACETS), motion.position, direction);
    if (!(way < nearest)) continue;
    nearest = way;
    shown = other;
  }
  return shown;
}

// One of its own poses, or with fresh spawns any place of the plan.
__device__ void wake_by(const Motions& motions, const Spawns& spawns, const Rooms& home, bool fresh) {
  const int i = agent_index();
  Random random = Random::agent();
  const int pose = i * NUM_AGENTS + (int)random.below((uint32_t)NUM_AGENTS);
  const float2 place = fresh ? place_anywhere(home, random) : spawns.spawn_positions[pose];
  const float angle = fresh ? random.uniform(-180.0f, 180.0f) : spawns.spawn_angles[pose];
  motions.store(i, Motion{place, make_float2(0.0f, 0.0f), angle, 0.0f, make_float2(0.0f, 0.0f)});
}
