// Discs of one size among line walls, moved for some time with exact contacts: where a disc touches a wall, the end of a
// wall or another disc, the rest of its velocity carries it along the obstacle.
//
//   Disc disc{position, velocity};                            // metres, metres per second
//   const bool touched = move_disc(disc, walls, radius, seconds);
//
// All lanes of an env that have an agent call move_disc together, one disc an agent. Agents have equal masses, contact
// turns no agent, and kinetic energy never grows: restitution 0 (keeps contact, and slides) to 1 (rebounds).
//
// How: the env's discs move together from contact to contact. A disc's next contact is the first root of its distance to
// a wall's inside, a wall's ends, or another disc (whose motion is taken into account) minus the radius; the earliest
// of the env is the common time to which all advance. Contacts happen SKIN outside of the radius, which is more than
// rounding can take away, so that paths keep their distance from walls. A disc that is touched MAX_CONTACTS times in
// one call stops there and is a wall to the others, so that the loop ends in any jam.
#pragma once

#include "geometry.cuh"

struct Disc {
  float2 position, velocity;
};

namespace physics {
using namespace plane;

constexpr float SKIN = 2e-5f;          // metres
constexpr float APPROACHING = 1e-6f;   // of the speed: motion along an obstacle is rounded to less
constexpr int MAX_CONTACTS = 8, MAX_PUSHES = 4;

struct Contact {
  float time;      // seconds from now
  float2 normal;   // of length 1, away from the obstacle
  int agent;       // the other disc, -1 for a wall
  float2 velocity;  // of the obstacle
  bool gives_way;  // a disc that takes its half of the impulse
};

WW_FUNCTION Contact with_wall(float time, float2 normal) {
  return Contact{time, normal, -1, make_float2(0.0f, 0.0f), false};
}

// The first time at which a point that moves by `velocity` from `offset` comes within `radius` of the origin; not if it
// only grazes that circle, as where walls join in a line.
WW_FUNCTION float time_to_circle(float2 offset, float2 velocity, float speed, float radius) {
  const float nearing = -dot(offset, velocity) / speed;
  if (!(nearing > APPROACHING * length(offset))) return INFINITY;
  const float aside = fabsf(cross(offset, velocity)) / speed;  // exact for long ways, where a discriminant is not
  if (aside >= radius - 0.25f * SKIN) return INFINITY;
  return larger((nearing - sqrtf(radius * radius - aside * aside)) / speed, 0.0f);
}

// The first contact of a disc with the inside or the ends of a wall.
WW_FUNCTION Contact contact_with(const Segment& wall, const Disc& disc, float speed, float radius) {
  Contact first = with_wall(INFINITY, make_float2(0.0f, 0.0f));
  const float2 along = wall.b - wall.a, from_a = disc.position - wall.a;
  const float wall_length = length(along);
  float2 normal = (1.0f / wall_length) * left_of(along);
  float distance = dot(normal, from_a);
  if (distance < 0.0f) {
    distance = -distance;
    normal = -1.0f * normal;
  }
  const float nearing = -dot(normal, disc.velocity);
  if (nearing > APPROACHING * speed) {
    const float time = larger((distance - radius) / nearing, 0.0f);
    const float foot = dot(from_a + time * disc.velocity, along) / wall_length;
    if (foot >= 0.0f && foot <= wall_length) first = with_wall(time, normal);
  }
  for (int i = 0; i < 2; ++i) {
    const float2 offset = i ? disc.position - wall.b : from_a;
    const float time = time_to_circle(offset, disc.velocity, speed, radius);
    if (time < first.time) {
      const float2 touching = offset + time * disc.velocity;
      first = with_wall(time, (1.0f / length(touching)) * touching);
    }
  }
  return first;
}

// The walls that touch a box around a disc, by number, so that each contact does not test all of them again. If there are
// too many to list, all walls of the plan are tested.
struct Near {
  static constexpr int MOST = 16;
  float2 middle;  // of the box
  float reach;    // half of its side
  int found;
  int number[MOST];

  // Tests all walls from now on if the disc left the box: it was pushed there, or another one made it faster.
  WW_METHOD void widen(float2 from, float2 to) {
    const float2 half = make_float2(reach, reach), low = middle - half, high = middle + half;
    const bool holds = from.x >= low.x && from.y >= low.y && to.x <= high.x && to.y <= high.y;
    found = holds ? found : MOST + 1;
  }
  WW_METHOD int count(const Walls& walls) const { return found > MOST ? walls.count : found; }
  WW_METHOD int at(int i) const { return found > MOST ? i : number[i]; }
};

// Those within `reach` of a place, along x and y.
WW_FUNCTION void find_near(Near& near, const Walls& walls, float2 middle, float reach) {
  const float2 half = make_float2(reach, reach), low = middle - half, high = middle + half;
  near.middle = middle;
  near.reach = reach;
  near.found = 0;
  for (int i = 0; i < walls.count; ++i) {
    if (!is_near(walls.ends[i], low, high)) continue;
    if (near.found < Near::MOST) near.number[near.found] = i;
    ++near.found;
  }
}

// How far from its middle a disc may meet walls within `seconds`, whichever way contacts turn it.
WW_FUNCTION float reach_of(const Disc& disc, float radius, float seconds) {
  return length(disc.velocity) * seconds + 2.0f * radius + SKIN;
}

// A disc's first contact with a wall within `seconds`.
WW_FUNCTION Contact contact_with_walls(const Walls& walls, Near& near, const Disc& disc, float radius, float seconds) {
  Contact first = with_wall(seconds, make_float2(0.0f, 0.0f));
  const float speed = length(disc.velocity);
  if (!(speed > 0.0f)) return first;
  const float2 p = disc.position, q = p + seconds * disc.velocity;
  const float reach = 2.0f * radius;
  const float2 low = make_float2(smaller(p.x, q.x) - reach, smaller(p.y, q.y) - reach);
  const float2 high = make_float2(larger(p.x, q.x) + reach, larger(p.y, q.y) + reach);
  near.widen(low, high);
  for (int i = 0; i < near.count(walls); ++i) {
    const float4 ends = walls.ends[near.at(i)];
    if (!is_near(ends, low, high)) continue;
    const Contact contact = contact_with(segment(ends), disc, speed, radius);
    if (contact.time < first.time) first = contact;
  }
  return first;
}

// Pushes a disc out of the walls that it overlaps, the deepest first. Only a disc placed there overlaps; contacts let
// none in.
WW_FUNCTION void push_out(const Walls& walls, Near& near, Disc& disc, float radius) {
  const float2 reach = make_float2(radius, radius);
  for (int push = 0; push < MAX_PUSHES; ++push) {
    float deepest = radius;
    float2 away = make_float2(0.0f, 0.0f);
    const float2 low = disc.position - reach, high = disc.position + reach;
    near.widen(low, high);
    for (int i = 0; i < near.count(walls); ++i) {
      const float4 ends = walls.ends[near.at(i)];
      if (!is_near(ends, low, high)) continue;
      const Segment wall = segment(ends);
      const float2 offset = disc.position - nearest_point(wall, disc.position);
      const float distance = length(offset);
      if (!(distance < deepest)) continue;
      deepest = distance;
      const float2 along = wall.b - wall.a;
      away = distance > 0.0f ? (1.0f / distance) * offset : (1.0f / length(along)) * left_of(along);
    }
    if (!(deepest < radius)) return;
    disc.position = disc.position + (radius + SKIN - deepest) * away;
  }
}

// What the env's lanes share with each other.
struct Field {
  Disc disc[NUM_AGENTS];
  float time[NUM_AGENTS];   // of each one's next contact
  int agent[NUM_AGENTS];    // with whom
  bool stopped[NUM_AGENTS];  // for the rest of the call
};

WW_FUNCTION Field& shared_field() {
  ENV_SHARED(Field, ww_discs, 1);
  return ww_discs[0];
}

// A disc's first contact with another one, if it is before `first`. Both compute the same time, to the last bit.
WW_FUNCTION void meet_others(const Field& field, float radius, Contact& first) {
  const int self = agent_id();
  for (int other = 0; other < NUM_AGENTS; ++other) {
    if (other == self) continue;
    const Disc &low = field.disc[self < other ? self : other], &high = field.disc[self < other ? other : self];
    const float2 offset = low.position - high.position, velocity = low.velocity - high.velocity;
    const float speed = length(velocity);
    if (!(speed > 0.0f)) continue;
    const float time = time_to_circle(offset, velocity, speed, 2.0f * radius);
    if (!(time < first.time)) continue;
    const float2 touching = offset + time * velocity;
    const float2 normal = ((self < other ? 1.0f : -1.0f) / length(touching)) * touching;
    first = Contact{time, normal, other, field.disc[other].velocity, !field.stopped[other]};
  }
}

// Moves overlapping discs apart, each by half of the overlap.
WW_FUNCTION void move_apart(Field& field, Disc& disc, float radius) {
  const int self = agent_id();
  float2 push = make_float2(0.0f, 0.0f);
  for (int other = 0; other < NUM_AGENTS; ++other) {
    if (other == self) continue;
    const float2 offset = field.disc[self].position - field.disc[other].position;
    const float distance = length(offset), missing = 2.0f * radius - distance;
    if (!(missing > 0.0f)) continue;
    const float2 aside = make_float2(self < other ? -1.0f : 1.0f, 0.0f);  // for two at the same place
    push = push + (0.5f * missing + SKIN) * (distance > 0.0f ? (1.0f / distance) * offset : aside);
  }
  // no further than a disc can go without crossing a wall that it does not overlap
  const float way = length(push);
  disc.position = disc.position + (way > radius ? radius / way : 1.0f) * push;
}

// Removes the part of a velocity that points into an obstacle, or reflects it.
WW_FUNCTION void rebound(Disc& disc, const Contact& contact, float restitution) {
  const float into = dot(disc.velocity - contact.velocity, contact.normal);
  const float share = contact.gives_way ? 0.5f : 1.0f;
  if (into < 0.0f) disc.velocity = disc.velocity - (share * (1.0f + restitution) * into) * contact.normal;
}

struct Unwatched {
  WW_METHOD void operator()(float2, float2) const {}
};

}  // namespace physics

// Moves this agent's disc; whether it touched a wall or another disc.
//
// radius in metres; seconds at least 0; restitution 0 .. 1, by default 0. Every wall must be longer than 0.
// `watch(from, to)` is called for each straight piece of the disc's path.
template <class Watch = physics::Unwatched>
WW_FUNCTION bool move_disc(Disc& disc, const Walls& walls, float radius, float seconds, float restitution = 0.0f,
                           Watch watch = Watch()) {
  using namespace physics;
  Field& field = shared_field();
  const int self = agent_id();
  const float contact_radius = radius + SKIN;
  float left = seconds;
  int contacts = 0;
  if (NUM_AGENTS > 1) {
    field.disc[self] = disc;
    sync_env();  // orders where all are before they are moved apart
    move_apart(field, disc, radius);
    sync_env();  // orders the reading of old places before new ones
  }
  Near near;
  find_near(near, walls, disc.position, reach_of(disc, contact_radius, seconds));
  push_out(walls, near, disc, radius);
  for (;;) {
    Contact next = contact_with_walls(walls, near, disc, contact_radius, left);
    if (NUM_AGENTS > 1) {
      field.disc[self] = disc;
      field.stopped[self] = contacts == MAX_CONTACTS;
      sync_env();  // orders all motion before others look for contacts
      meet_others(field, contact_radius, next);
      field.time[self] = next.time;
      field.agent[self] = next.agent;
      sync_env();  // orders all contacts before the earliest is chosen
    }
    float now = next.time;
    for (int i = 0; NUM_AGENTS > 1 && i < NUM_AGENTS; ++i) now = smaller(now, field.time[i]);
    const float2 from = disc.position;
    disc.position = from + now * disc.velocity;
    watch(from, disc.position);
    if (!(now < left)) return contacts > 0;
    left -= now;
    // Of several contacts at one time each disc has one, and two discs must have chosen each other.
    if (next.time != now || (next.agent >= 0 && field.agent[next.agent] != self)) continue;
    if (contacts == MAX_CONTACTS) continue;
    rebound(disc, next, restitution);
    if (++contacts == MAX_CONTACTS) disc.velocity = make_float2(0.0f, 0.0f);
  }
}
