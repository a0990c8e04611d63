// Lines of sight that graze corners, by both of the tests that hide and seek has.
#include "../../../warpworld/envs/hide_and_seek/fields.cuh"

// Puts the agents of each env on lines past a corner of what hides, off it by up to 0.1 mm, some by less than rounding, and
// counts lines of which the two tests find different things, those that are hidden, and all.
extern "C" __global__ void graze(Store store, Rules rules, int* different, int* blocked, int* lines) {
  if (!is_active()) return;
  const Bodies all = bodies_of(store);
  Random random = Random::env();
  Screens screens;
  find_screens(store, all, screens);
  for (int line = 0; line < 1000; ++line) {
    const int i = (int)random.below((unsigned)Screens::COUNT), corner = (int)random.below(4u);
    const float off = 1e-4f * powf(10.0f, -4.0f * random.uniform()), turn = random.uniform(-3.2f, 3.2f);
    const float2 way = make_float2(cosf(turn), sinf(turn));
    const float2 at = make_float2(screens.x[i] + (corner & 1 ? 1.0f : -1.0f) * screens.half_x[i] + off * way.y,
                                  screens.y[i] + (corner & 2 ? 1.0f : -1.0f) * screens.half_y[i] - off * way.x);
    all.position[0] = plane::operator-(at, plane::operator*(random.uniform(0.1f, 5.0f), way));
    all.position[1] = plane::operator+(at, plane::operator*(random.uniform(0.1f, 5.0f), way));
    const bool exact = sees(store, all, rules.reach, 0, 1);
    different[env_id()] += exact != sees_past(screens, store, rules, all, 0, 1);
    blocked[env_id()] += !exact;
    lines[env_id()] += 1;
  }
}

extern "C" __global__ void scatter(Store store, Rules rules, Starts starts) {
  if (is_active()) lay_out(store, rules, starts);
}
