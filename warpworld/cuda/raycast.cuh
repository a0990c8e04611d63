// One-dimensional cameras: a row of rays from a place in the plane, each of which sees the nearest of walls and agents.
//
//   using Eye = raycast::Eye<RAYS, MOST_WALLS>;
//   ENV_SHARED(Eye, eye, 1);
//   look(eye[0], camera, walls, bodies, self);                         // all lanes of the env, together
//   for (int ray = ...) { const Hit hit = hit_of(eye[0], camera, ray); ... }
//   sync_env();                                                        // before the next camera looks
//
// Ray r of R has the direction (1, y) in the camera's frame (forward, left), y = tan(fov / 2) (R - 2 r - 1) / R: ray 0 is
// the leftmost, and the image plane is cut evenly. Fields of view below 180 degrees. There is no near plane: walls are
// visible at any distance, and an agent's own body is left out by its index. Boxes that move are four walls each, put behind
// the others anew in each step by put_sides() of geometry.cuh.
//
// How: along a line, the inverse of the depth is an affine function of y. Each line is set up once a camera (brought
// into the camera's frame, dropped if it is behind or beside the view, its range of rays found), and a ray then costs
// one multiplication, one addition and one comparison for each line in whose range it or a neighbour is. Only the
// nearest is shaded.
#pragma once

#include "physics.cuh"

struct Camera {
  float2 position, forward;  // metres; of length 1
  float tan_half_fov;
};

// An agent as others see it: an octagon of eight facets, facet 0 its right side, going round to the left.
struct Body {
  float2 position, forward;
  float width;  // metres
};

struct Hit {
  int object;    // -1 nothing, 0 .. NUM_AGENTS - 1 an agent, NUM_AGENTS + w wall w
  int facet;     // of an agent
  float depth;   // metres from the camera; infinity where there is nothing
  float along;   // 0 .. 1 on the wall or facet, from its first end
  float facing;  // squared cosine of the angle to the surface's normal
};

namespace raycast {
using namespace plane;

constexpr int FACETS = 8;

// How a camera sees a line.
struct Line {
  float inverse_0, inverse_1;  // 1 / depth along the camera's axis = inverse_0 + inverse_1 y
  float along_0, along_1;      // place on the line = depth (along_0 + along_1 y)
  float square_distance;       // of the camera to the line
  int first, last;             // rays that hit it; none if first > last
};

// What the env's lanes share while one camera looks. A line's number is FACETS * agent + facet, or behind those the
// wall's; lines are laid out by number, one array for each of their fields.
template <int Rays, int MostWalls>
struct Eye {
  static constexpr int MOST_LINES = FACETS * NUM_AGENTS + MostWalls;
  static constexpr int PLACES = Rays + Rays / 32;  // of rays, see place_of()
  float inverse_0[MOST_LINES], inverse_1[MOST_LINES], along_0[MOST_LINES], along_1[MOST_LINES];
  float square_distance[MOST_LINES];
  unsigned span[MOST_LINES];  // of rays: the first, and in the upper half the end; 0 where no ray hits the line
  int visible[MOST_LINES];    // where lanes take turns: numbers of the lines that some ray hits, in any order
  int count;                  // of them
  float inverse[PLACES];      // 1 / depth of the nearest line
  int number[PLACES];         // of the nearest line, -1 for none
};

// Index of a ray in an Eye. Lanes that read every second, fourth or eighth ray side by side find them in different banks.
WW_FUNCTION int place_of(int ray) { return LANES_SIDE_BY_SIDE ? ray + (ray >> 5) : ray; }

WW_FUNCTION int first_of(unsigned span) { return (int)(span & 0xFFFFu); }
WW_FUNCTION int end_of(unsigned span) { return (int)(span >> 16); }

WW_FUNCTION float image_of(const Camera& camera, int ray, int rays) {
  return (float)(rays - 1 - 2 * ray) * (camera.tan_half_fov / (float)rays);
}

// Corner i of an octagon of half width 1 whose front is x = 1.
WW_FUNCTION float2 corner(int i) {
  const float near = 0.5f, far = 1.0f;
  const float x = i == 1 || i == 4 ? near : i == 2 || i == 3 ? far : i == 0 || i == 5 ? -near : -far;
  const float y = i == 0 || i == 1 ? -far : i == 2 || i == 7 ? -near : i == 3 || i == 6 ? near : far;
  return make_float2(x, y);
}

WW_FUNCTION Segment facet_of(const Body& body, int facet) {
  const float2 a = corner(facet), b = corner((facet + 1) % FACETS), left = left_of(body.forward);
  const float half = 0.5f * body.width;
  return Segment{body.position + half * (a.x * body.forward + a.y * left),
                 body.position + half * (b.x * body.forward + b.y * left)};
}

// Where the ray through a point of the camera's frame crosses the image; beyond its edge for points that are not before
// the camera, on the side to which the line leaves the view.
WW_FUNCTION float image_of(float2 point, float2 other) {
  const float crossing = point.y * other.x - point.x * other.y;  // of the camera's own plane, where other.x > 0
  return point.x > 0.0f ? point.y / point.x : crossing > 0.0f ? INFINITY : -INFINITY;
}

// Sets a line up for a camera of `rays` rays. Without branches, so that many lines are set up at once where lanes take
// turns; what is no number then has no rays.
WW_FUNCTION Line set_up(const Camera& camera, const Segment& wall, int rays) {
  const float2 from_a = wall.a - camera.position, from_b = wall.b - camera.position;
  const float2 left = left_of(camera.forward);
  const float2 a = make_float2(dot(from_a, camera.forward), dot(from_a, left));
  const float2 b = make_float2(dot(from_b, camera.forward), dot(from_b, left));
  const float t = camera.tan_half_fov, scale = 0.5f * (float)rays / t, half = 0.5f * (float)(rays - 1);
  const float2 along = b - a;
  const float beside = cross(a, along), per_beside = 1.0f / beside;
  const bool behind = (a.x <= 0.0f) & (b.x <= 0.0f), edge_on = beside == 0.0f;
  const bool too_left = (a.y > t * a.x) & (b.y > t * b.x), too_right = (a.y < -t * a.x) & (b.y < -t * b.x);
  const bool unseen = behind | edge_on | too_left | too_right;
  const float of_a = image_of(a, b), of_b = image_of(b, a), edge = (float)rays;
  const int first = (int)ceilf(clamped(half - scale * larger(of_a, of_b), 0.0f, edge));
  const int last = (int)floorf(clamped(half - scale * smaller(of_a, of_b), -1.0f, edge - 1.0f));
  return Line{along.y * per_beside, -along.x * per_beside, -a.y * per_beside, a.x * per_beside,
              beside * beside / dot(along, along), first, unseen ? -1 : last};
}

template <class Eye>
WW_FUNCTION void put(Eye& eye, int number, const Line& line) {
  eye.inverse_0[number] = line.inverse_0;
  eye.inverse_1[number] = line.inverse_1;
  eye.along_0[number] = line.along_0;
  eye.along_1[number] = line.along_1;
  eye.square_distance[number] = line.square_distance;
  eye.span[number] = line.first <= line.last ? (unsigned)line.first | (unsigned)(line.last + 1) << 16 : 0u;
}

// How the lanes of an env share n things: each a stretch of neighbours, or neighbours to neighbouring lanes.
struct Share {
  int first, end, step;
};
WW_FUNCTION Share share_of(int n) {
  if (LANES_SIDE_BY_SIDE) return Share{lane(), n, num_lanes()};
  const int each = (n + num_lanes() - 1) / num_lanes(), first = lane() * each;
  return Share{first < n ? first : n, first + each < n ? first + each : n, 1};
}

// A line that is as near as another one wins by its lower number, so that the order of lines is of no importance.
WW_FUNCTION bool is_before(float inverse, int number, float than_inverse, int than_number) {
  return inverse > than_inverse || (inverse == than_inverse && number < than_number);
}

// Each line draws itself over its rays, as lanes take turns: neighbouring rays are vectors then.
template <class Eye>
WW_FUNCTION void draw_lines(Eye& eye, const Camera& camera, int rays, int first_ray, int end_ray) {
  for (int ray = first_ray; ray < end_ray; ++ray) {
    eye.inverse[ray] = 0.0f;
    eye.number[ray] = -1;
  }
  for (int i = 0; i < eye.count; ++i) {
    const int number = eye.visible[i], first = first_of(eye.span[number]), last = end_of(eye.span[number]) - 1;
    const float inverse_0 = eye.inverse_0[number], inverse_1 = eye.inverse_1[number];
    const int end = last < end_ray ? last + 1 : end_ray;
    for (int ray = first > first_ray ? first : first_ray; ray < end; ++ray) {
      const float inverse = inverse_0 + inverse_1 * image_of(camera, ray, rays);
      const bool nearer = is_before(inverse, number, eye.inverse[ray], eye.number[ray]);
      eye.inverse[ray] = nearer ? inverse : eye.inverse[ray];
      eye.number[ray] = nearer ? number : eye.number[ray];
    }
  }
}

// The nearest lines of all rays. Lanes that fill a warp take neighbouring rays, and test together which lines have any of
// them: each tests one line, so that a ray costs only what its neighbours meet. Other lanes each test all lines.
//
// Lines come by number, and only a nearer one takes the place of another: of those as near, the lowest stays.
template <int Rays, class Eye>
WW_FUNCTION void cast_rays(Eye& eye, const Camera& camera, int lines) {
  constexpr int each = Rays > 128 ? 2 : 1;  // rays of a lane at a time: few rays are better shared by many lanes
  const int together = ww_lanes_that_vote(), own = lane() % together;
  for (int first = (lane() - own) * each; first < Rays; first += num_lanes() * each) {
    const int end = first + together * each;
    float y[each], nearest[each];
    int number[each];
    for (int k = 0; k < each; ++k) {
      y[k] = image_of(camera, first + k * together + own, Rays);
      nearest[k] = 0.0f;
      number[k] = -1;
    }
    for (int begin = 0; begin < lines; begin += together) {
      const unsigned asked = begin + own < lines ? eye.span[begin + own] : 0u;
      unsigned votes = ww_votes(first_of(asked) < end && end_of(asked) > first);
      for (; votes; votes &= votes - 1u) {
        const int line = begin + __ffs((int)votes) - 1;
        const float inverse_0 = eye.inverse_0[line], inverse_1 = eye.inverse_1[line];
        const unsigned span = eye.span[line];
        const int from = first_of(span) - first - own, to = end_of(span) - first - own;
        for (int k = 0; k < each; ++k) {
          const float inverse = inverse_0 + inverse_1 * y[k];
          const bool nearer = k * together >= from && k * together < to && inverse > nearest[k];
          nearest[k] = nearer ? inverse : nearest[k];
          number[k] = nearer ? line : number[k];
        }
      }
    }
    for (int k = 0; k < each; ++k) {
      const int ray = first + k * together + own;
      if (ray >= Rays) continue;
      eye.inverse[place_of(ray)] = nearest[k];
      eye.number[place_of(ray)] = number[k];
    }
  }
}

// As lanes take turns: which lines some ray hits, and then each line over its rays.
template <class Eye>
WW_FUNCTION void draw_visible(Eye& eye, const Camera& camera, int rays, int num_lines) {
  const Share lines = share_of(num_lines), own = share_of(rays);
  for (int number = lines.first; number < lines.end; number += lines.step)
    if (eye.span[number]) eye.visible[atomicAdd(&eye.count, 1)] = number;
  sync_env();  // orders all visible lines before rays read them
  draw_lines(eye, camera, rays, own.first, own.end);
}

}  // namespace raycast

// What a camera sees, for all its rays. All lanes of the env call it together; before the first call and between two of
// them there must be a barrier.
//
// bodies: of the env's agents; `self` is left out, -1 for none.
template <int Rays, int MostWalls>
WW_FUNCTION void look(raycast::Eye<Rays, MostWalls>& eye, const Camera& camera, const Walls& walls, const Body* bodies,
                      int self) {
  using namespace raycast;
  constexpr int num_facets = FACETS * NUM_AGENTS;
  if (lane() == 0) eye.count = 0;
  const Share facets = share_of(num_facets);
  for (int facet = facets.first; facet < facets.end; facet += facets.step) {
    const int agent = facet / FACETS;
    Line line{0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0, -1};
    if (agent != self) line = set_up(camera, facet_of(bodies[agent], facet % FACETS), Rays);
    put(eye, facet, line);
  }
  const Share of_walls = share_of(walls.count);
  for (int wall = of_walls.first; wall < of_walls.end; wall += of_walls.step)
    put(eye, num_facets + wall, set_up(camera, segment(walls.ends[wall]), Rays));
  sync_env();  // orders all lines, and the count before it grows
  if constexpr (LANES_SIDE_BY_SIDE)
    cast_rays<Rays>(eye, camera, num_facets + walls.count);
  else
    draw_visible(eye, camera, Rays, num_facets + walls.count);
  sync_env();  // orders all rays before neighbours are read
}

// What one ray hits.
template <int Rays, int MostWalls>
WW_FUNCTION Hit hit_of(const raycast::Eye<Rays, MostWalls>& eye, const Camera& camera, int ray) {
  using namespace raycast;
  const int place = place_of(ray), number = eye.number[place], known = number < 0 ? 0 : number;
  const int wall = number - FACETS * NUM_AGENTS;
  const float y = image_of(camera, ray, Rays), square = 1.0f + y * y;
  const float inverse = number < 0 ? 0.0f : eye.inverse[place];  // and without a branch 1 / inverse, the depth, is infinite
  const float depth = 1.0f / inverse, along = depth * (eye.along_0[known] + eye.along_1[known] * y);
  return Hit{number < 0 ? -1 : wall < 0 ? known / FACETS : NUM_AGENTS + wall, known % FACETS, depth * sqrtf(square),
             clamped(along, 0.0f, 1.0f), eye.square_distance[known] * inverse * inverse / square};
}
