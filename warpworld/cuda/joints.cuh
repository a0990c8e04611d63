// Bodies that hold and lock each other, beside bodies.cuh.
//
//   const int box = nearest_in_reach(bodies, agent, reach, first_box, end);   // or NOTHING
//   hold(bodies, agent, box);   let_go(bodies, agent);   lock(bodies, agent, box, team);   unlock(bodies, box, team);
//   const int broken = move_bodies(bodies, arena, motion, joints, timestep);  // how many joints broke
//
// A joint takes all relative velocity from a pair in each part of a step, by an impulse that both share: momentum stays,
// and energy does not grow. It breaks where that takes more than `force`, where the two are further apart than `length`
// (one of them is stuck), or where the held one is locked: a held body can be pushed, and its holder with it.
//
// A body holds one other, and is held by one. Locked bodies have infinite mass until their own team unlocks them.
#pragma once

#include "bodies.cuh"

struct Joints {
  float length;  // metres between surfaces, beyond which it breaks
  float force;   // newtons
};

constexpr int NOTHING = -1;

WW_FUNCTION int holder_of(const Bodies& all, int body) {
  for (int other = 0; other < all.count; ++other)
    if (all.held[other] == body) return other;
  return NOTHING;
}

// The nearest of the bodies first .. end - 1 whose surface is less than `reach` metres from that of `self`.
WW_FUNCTION int nearest_in_reach(const Bodies& all, int self, float reach, int first, int end) {
  float nearest = reach;
  int found = NOTHING;
  for (int other = first; other < end; ++other) {
    if (other == self) continue;
    const float gap = bodies::gap_between(all, self, other);
    if (gap < nearest) {
      nearest = gap;
      found = other;
    }
  }
  return found;
}

WW_FUNCTION bool can_hold(const Bodies& all, int self, int body) {
  return body != NOTHING && all.held[self] == NOTHING && !all.locked[body] && holder_of(all, body) == NOTHING;
}

// A body that another one holds is not to be locked.
WW_FUNCTION bool can_lock(const Bodies& all, int self, int body) {
  if (body == NOTHING || all.locked[body]) return false;
  const int holder = holder_of(all, body);
  return holder == NOTHING || holder == self;
}

WW_FUNCTION bool can_unlock(const Bodies& all, int body, int team) { return body != NOTHING && all.locked[body] == team; }

WW_FUNCTION void let_go(const Bodies& all, int self) { all.held[self] = NOTHING; }

WW_FUNCTION bool hold(const Bodies& all, int self, int body) {
  if (!can_hold(all, self, body)) return false;
  all.held[self] = body;
  return true;
}

// team: from 1 on. Ends a joint by which `self` holds the body.
WW_FUNCTION bool lock(const Bodies& all, int self, int body, int team) {
  if (!can_lock(all, self, body)) return false;
  if (all.held[self] == body) let_go(all, self);
  all.locked[body] = team;
  all.velocity[body] = make_float2(0.0f, 0.0f);
  return true;
}

WW_FUNCTION bool unlock(const Bodies& all, int body, int team) {
  if (!can_unlock(all, body, team)) return false;
  all.locked[body] = 0;
  return true;
}

// Brings a body and the one that it holds to one velocity; false, and nothing is changed but that it lets go, if the
// joint breaks.
WW_FUNCTION bool pull(const Bodies& all, const Joints& joints, int self, float seconds) {
  using namespace plane;
  const int other = all.held[self];
  const float own = bodies::inverse_mass(all, self), its = bodies::inverse_mass(all, other);
  const float2 apart = all.velocity[other] - all.velocity[self];
  const float share = own + its > 0.0f ? 1.0f / (own + its) : 0.0f;
  const bool breaks = all.locked[other] || bodies::gap_between(all, self, other) > joints.length ||
                      share * length(apart) > joints.force * seconds;
  if (breaks) {
    let_go(all, self);
    return false;
  }
  all.velocity[self] = all.velocity[self] + (share * own) * apart;
  all.velocity[other] = all.velocity[other] - (share * its) * apart;
  return true;
}

// Moves all bodies of an env for a step, and returns how many joints broke. step: its number, from 0 on.
WW_FUNCTION int move_bodies(const Bodies& all, const Arena& arena, const Motion& motion, const Joints& joints, int step) {
  const float seconds = motion.seconds / (float)motion.substeps;
  int broken = 0;
#pragma unroll 1
  for (int part = 0; part < motion.substeps; ++part) {
    const int turn = step * motion.substeps + part;
#pragma unroll 1
    for (int place = 0; place < all.count; ++place) {
      const int body = (turn + place) % all.count;
      if (all.held[body] != NOTHING) broken += !pull(all, joints, body, seconds);
    }
    move_bodies_once(all, arena, motion, turn);
  }
  return broken;
}
