// Two armies on a grid by MAgent's rules: soldiers walk, strike those beside them, recover and die.
//
// The world keeps who stands where, so that a soldier's step costs the same however many there are. cells (envs,
// side * side) is the map with its walls and a margin as wide as a view: EMPTY, a soldier, WALL or OUTSIDE, and between
// two barriers a claim; side is map_size + 2 * VIEW_RADIUS. planes (envs, 4, side * side) has the bytes that views show of
// each cell: 255 where a red soldier stands, and its hp, then the same of blue.
//
// Arrays, each with an entry for every soldier: place (envs, agents) index into cells, -1 once dead; hp; kills, of this
// episode; rewards; agent_mask; agent_terminated; observations (envs, agents, 5, V, V), see look(). blows and first are
// all 0 between steps: how many strikes a soldier got, and the highest claim of those who struck. left (envs, 2) counts
// the living of both armies. Lane 0 writes terminated, truncated, red_won and turn (envs,), see order().
// Read: actions (envs, agents, 1); reach (actions, 2), how many cells on in `cells` each leads red and blue, times two,
// and one more if it strikes; circle (V, ROW), all bits where a soldier sees, else none; walls (side * side,), all bits
// where one is; formation (agents, 2) and slack (1,), see reset().
//
// A step: all strikes land at once, on those who stood there when the step began, and those whose hp falls below 0 die.
// Then all walk at once, to cells that are empty by then. The lanes of an env share its soldiers: each lane takes every
// num_lanes()-th, in each of the phases between barriers.
#include <warpworld.cuh>

constexpr int VIEW = 2 * VIEW_RADIUS + 1, PLANE = VIEW * VIEW;
constexpr int CHUNK = 16;                         // bytes of a row of a view that a lane copies at once
constexpr int ROW = VIEW < CHUNK ? CHUNK : VIEW;  // of circle
constexpr int orders_for(int agents) { return agents <= 1024 ? 1024 : 2 * orders_for((agents + 1) / 2); }
constexpr int ORDERS = orders_for(NUM_AGENTS);  // at least NUM_AGENTS, a power of two
// What a cell holds; a soldier's has the flag of its army and its number. A claim is 1 .. ORDERS.
constexpr int EMPTY = 0, RED = 2 * ORDERS, BLUE = RED << 1, WALL = RED << 2, OUTSIDE = RED << 3;

struct Field {
  int* cells;
  unsigned char* planes;
  int* place;
  float* hp;
  int* left;
  int map_size;
  float max_hp;
};

struct Sight {
  unsigned char* observations;
  const unsigned char* circle;
  const unsigned char* walls;
};

struct Orders {
  const int* actions;
  const int* reach;
  int* turn;
};

struct Strikes {
  const float* damage;
  const float* step_recover;
  int* blows;
  int* first;
};

struct Pay {
  float* rewards;
  int* kills;
  float step_reward, attack_penalty, attack_opponent_reward, kill_reward, dead_penalty;
};

struct Ends {
  const int* timestep;
  bool* agent_mask;
  bool* agent_terminated;
  bool* red_won;
  bool* terminated;
  bool* truncated;
  int episode_length;
};

__device__ int army_of(int agent) { return agent >= BLUE_FIRST; }
__device__ int flag_of(int army) { return army == 0 ? RED : BLUE; }
__device__ int side_of(const Field& field) { return field.map_size + 2 * VIEW_RADIUS; }
__device__ int num_cells(const Field& field) { return side_of(field) * side_of(field); }

// The field of one env, and where arrays with an entry for every soldier begin to be its own.
struct Ground : Field {
  int first;
};

__device__ Ground here(const Field& field) {
  const size_t first = (size_t)env_id() * (size_t)num_cells(field);
  Ground ground{field, env_id() * NUM_AGENTS};
  ground.cells += first;
  ground.planes += 4 * first;
  return ground;
}

// Lanes of a GPU know their env without a register, in which `first` would have to be kept.
__device__ int index_of(const Ground& ground, int agent) {
  return (LANES_SIDE_BY_SIDE ? env_id() * NUM_AGENTS : ground.first) + agent;
}

// Of a lane's soldiers, a bit for each that lives when a step begins. Where lanes take turns, loops run over these bits: a
// CPU could not predict a branch for each soldier.
constexpr int WORDS = LANES_SIDE_BY_SIDE ? 1 : (NUM_AGENTS + 63) / 64;
struct Living {
  unsigned long long bits[WORDS];
};

__device__ Living living_of(const Ground& ground) {
  Living found = {};
  if (LANES_SIDE_BY_SIDE) return found;
  const int stride = num_lanes();
  for (int word = 0, agent = lane(); word < WORDS; ++word)
    for (int k = 0; k < 64 && agent < NUM_AGENTS; ++k, agent += stride)
      found.bits[word] |= (unsigned long long)(ground.place[index_of(ground, agent)] >= 0) << k;
  return found;
}

// Lets a lane do something for each of its soldiers that lives when a step begins; or more, where lanes run in parallel.
template <class Work>
__device__ void for_each(const Living& living, const Work& work) {
  if (LANES_SIDE_BY_SIDE) {
    for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) work(agent);
  } else {
    const int first = lane(), stride = num_lanes();
    for (int word = 0; word < WORDS; ++word)
      for (unsigned long long bits = living.bits[word]; bits; bits &= bits - 1)
        work(first + (64 * word + __ffsll((long long)bits) - 1) * stride);
  }
}

// What a cell holds where this soldier stands.
__device__ int soldier(int agent) { return flag_of(army_of(agent)) | agent; }

// The planes of an army: its soldiers, and behind them their hp.
__device__ unsigned char* planes_of(const Ground& ground, int army) { return ground.planes + 2 * army * num_cells(ground); }

// Shows a soldier to all who see its cell, with its hp as a byte, or hides it.
__device__ void show(const Ground& ground, int agent, int cell) {
  unsigned char* plane = planes_of(ground, army_of(agent)) + cell;
  plane[0] = 255;
  plane[num_cells(ground)] = (unsigned char)(ground.hp[index_of(ground, agent)] / ground.max_hp * 255.0f + 0.5f);
}

__device__ void hide(const Ground& ground, int agent, int cell) {
  unsigned char* plane = planes_of(ground, army_of(agent)) + cell;
  plane[0] = plane[num_cells(ground)] = 0;
}

// ---- sight ----------------------------------------------------------------------------------------------------------
// Copies CHUNK bytes of a row, from the left or from the right, or the first WIDTH of them, 8 at least where it is not the
// narrowest of views: all are read before any is written, so that a compiler takes them at once.
template <bool MIRRORED, int WIDTH>
__device__ void copy_bytes(const unsigned char* line, const unsigned char* circle, unsigned char* seen) {
  unsigned char copied[CHUNK];
  for (int k = 0; k < CHUNK; ++k) copied[k] = line[MIRRORED ? -k : k] & circle[k];
  if (WIDTH == CHUNK || WIDTH < 8) {
    memcpy(seen, copied, WIDTH);
    return;
  }
  constexpr int shift = WIDTH < 8 ? 0 : 8 * (WIDTH - 8) % 64;  // two halves that overlap, or a compiler copies byte by byte
  unsigned long long halves[2];
  memcpy(halves, copied, CHUNK);
  halves[1] = shift == 0 ? halves[0] : halves[0] >> shift | halves[1] << (64 - shift) % 64;
  memcpy(seen, halves, 8);
  memcpy(seen + WIDTH - 8, halves + 1, 8);
}

// Copies a row of a view; chunks of a wide one overlap. A narrow one is a chunk, and is written whole unless it IS_EXACT.
template <bool MIRRORED, bool IS_EXACT>
__device__ void copy_row(const unsigned char* line, const unsigned char* circle, unsigned char* seen) {
  for (int next = 0; next < VIEW; next += CHUNK) {
    const int k = VIEW < CHUNK || next + CHUNK <= VIEW ? next : VIEW - CHUNK;
    copy_bytes<MIRRORED, IS_EXACT && VIEW < CHUNK ? VIEW : CHUNK>(line + (MIRRORED ? -k : k), circle + k, seen + k);
  }
}

// Copies what a soldier sees of a plane. Of a narrow view, a row runs over into the next one, which is copied later; so
// does the last one into the next plane, unless this is the last. Of the narrowest, it would run over into more than one.
template <bool MIRRORED, bool IS_LAST>
__device__ void copy_plane(const unsigned char* line, int side, const unsigned char* circle, unsigned char* seen) {
  constexpr int whole = VIEW < CHUNK / 2 ? 0 : VIEW - IS_LAST;  // rows that may run over
  line += MIRRORED ? VIEW - 1 : 0;
#ifndef __CUDACC__
#pragma GCC unroll 16
#endif
  for (int y = 0; y < whole; ++y) copy_row<MIRRORED, false>(line + y * side, circle + y * ROW, seen + y * VIEW);
  for (int y = whole; y < VIEW; ++y) copy_row<MIRRORED, true>(line + y * side, circle + y * ROW, seen + y * VIEW);
}

// A plane of an army's views, of the whole map: walls, its own soldiers, their hp, the enemy, their hp.
__device__ const unsigned char* plane_of(const Ground& ground, const Sight& sight, int plane, int army) {
  const int of_red = plane - 1;  // blue's come after two of red
  return plane == 0 ? sight.walls : ground.planes + (army == 0 ? of_red : of_red ^ 2) * num_cells(ground);
}

// Writes what a soldier sees in a circle around it; the dead see nothing. Blue sees the map from its own side: x grows
// towards where the enemy starts.
template <int ARMY>
__device__ void look(const Ground& ground, const Sight& sight, int agent) {
  unsigned char* seen = sight.observations + (size_t)index_of(ground, agent) * OBSERVATION_SIZE;
  const int place = ground.place[index_of(ground, agent)], side = side_of(ground);
  if (place < 0) {
    for (int k = 0; k < 5 * PLANE; ++k) seen[k] = 0;
    return;
  }
  const int corner = place - VIEW_RADIUS * side - VIEW_RADIUS;
  for (int plane = 0; plane < 4; ++plane)
    copy_plane<ARMY == 1, false>(plane_of(ground, sight, plane, ARMY) + corner, side, sight.circle, seen + plane * PLANE);
  copy_plane<ARMY == 1, true>(plane_of(ground, sight, 4, ARMY) + corner, side, sight.circle, seen + 4 * PLANE);
}

// One byte of what a soldier sees.
__device__ unsigned char seen_byte(const Ground& ground, const Sight& sight, int agent, int byte) {
  const int place = ground.place[index_of(ground, agent)], army = army_of(agent);
  if (place < 0) return 0;
  const int y = byte % PLANE / VIEW, x = byte % PLANE % VIEW;
  const int ahead = army == 0 ? x - VIEW_RADIUS : VIEW_RADIUS - x;
  const unsigned char* plane = plane_of(ground, sight, byte / PLANE, army);
  return plane[place + (y - VIEW_RADIUS) * side_of(ground) + ahead] & sight.circle[y * ROW + x];
}

// Those who lived when the step began look; they are those of a mask, if there is one. Lanes that run in parallel write
// neighbouring bytes of one view; where they take turns, each writes whole views.
__device__ void look_around(const Ground& ground, const Sight& sight, const Living& living, const bool* looks) {
  if (LANES_SIDE_BY_SIDE) {
#pragma unroll 1  // copies of the body spill registers on sm_80
    for (int k = lane(); k < NUM_AGENTS * OBSERVATION_SIZE; k += num_lanes()) {
      const int agent = k / OBSERVATION_SIZE;
      if (looks == nullptr || looks[index_of(ground, agent)])
        sight.observations[(size_t)env_id() * NUM_AGENTS * OBSERVATION_SIZE + k] =
            seen_byte(ground, sight, agent, k % OBSERVATION_SIZE);
    }
  } else {
    for_each(living, [&](int agent) { army_of(agent) == 0 ? look<0>(ground, sight, agent) : look<1>(ground, sight, agent); });
  }
}

// ---- strikes --------------------------------------------------------------------------------------------------------
// The cells that a soldier strikes and walks to; its own, where it does not.
struct Choice {
  int struck, entered;
  bool strikes;
};

__device__ Choice choice_of(const Ground& ground, const Orders& orders, int agent) {
  const int reach = orders.reach[2 * orders.actions[index_of(ground, agent)] + army_of(agent)];
  const int from = ground.place[index_of(ground, agent)], offset = reach >> 1, strikes = reach & 1;
  return Choice{from + strikes * offset, from + (1 - strikes) * offset, strikes != 0};
}

// Who comes first where two compete: every step turns the order anew, so that no soldier and no army is favoured.
__device__ int order(int agent, int turn) { return agent ^ turn; }
__device__ int claim_of(int agent, const Orders& orders) { return ORDERS - order(agent, orders.turn[env_id()]); }

// The enemy that a living soldier strikes, -1 if there is none.
__device__ int target_of(const Ground& ground, const Choice& choice, int agent) {
  const int cell = ground.cells[choice.struck];
  return cell & flag_of(1 - army_of(agent)) ? cell & ORDERS - 1 : -1;
}

// A soldier's hp after all strikes, before it recovers; below 0 it dies.
__device__ float hp_after(const Ground& ground, const Strikes& strikes, int agent) {
  return ground.hp[index_of(ground, agent)] - strikes.damage[env_id()] * (float)strikes.blows[index_of(ground, agent)];
}

// What holds of the dead, whom a lane that takes turns leaves out. It is written for all, and then over that of the living.
__device__ void expect_nothing(const Ground& ground, const Pay& pay, const Ends& ends) {
  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    pay.rewards[index_of(ground, agent)] = 0.0f;
    ends.agent_mask[index_of(ground, agent)] = false;
    ends.agent_terminated[index_of(ground, agent)] = false;
  }
}

__device__ void strike(const Ground& ground, const Orders& orders, const Strikes& strikes, int agent) {
  if (ground.place[index_of(ground, agent)] < 0) return;
  const int target = target_of(ground, choice_of(ground, orders, agent), agent);
  if (target < 0) return;
  atomicAdd(&strikes.blows[index_of(ground, target)], 1);
  atomicMax(&strikes.first[index_of(ground, target)], claim_of(agent, orders));
}

// Rewards a soldier for what it did and suffered, while all hp are those from before the strikes.
__device__ void reward(const Ground& ground, const Orders& orders, const Strikes& strikes, const Pay& pay, int agent) {
  float& reward = pay.rewards[index_of(ground, agent)];
  reward = 0.0f;
  if (ground.place[index_of(ground, agent)] < 0) return;
  const Choice choice = choice_of(ground, orders, agent);
  const float paid = pay.step_reward + (choice.strikes ? pay.attack_penalty : 0.0f);
  const int target = target_of(ground, choice, agent);
  reward = hp_after(ground, strikes, agent) < 0.0f ? pay.dead_penalty : paid;
  if (target < 0) return;
  const bool kills =
      strikes.first[index_of(ground, target)] == claim_of(agent, orders) && hp_after(ground, strikes, target) < 0.0f;
  reward += kills ? pay.kill_reward : pay.attack_opponent_reward;
  pay.kills[index_of(ground, agent)] += kills;
}

// Takes the strikes from a soldier's hp; it recovers, or leaves the map.
__device__ void suffer(const Ground& ground, const Strikes& strikes, const Ends& ends, int agent) {
  const int from = ground.place[index_of(ground, agent)];
  const float hp = hp_after(ground, strikes, agent);
  const bool lives = from >= 0, dies = lives && hp < 0.0f;
  ends.agent_mask[index_of(ground, agent)] = lives;
  ends.agent_terminated[index_of(ground, agent)] = dies;
  strikes.blows[index_of(ground, agent)] = 0;
  strikes.first[index_of(ground, agent)] = 0;
  if (!lives) return;
  hide(ground, agent, from);
  ground.hp[index_of(ground, agent)] = dies ? 0.0f : fminf(hp + strikes.step_recover[env_id()], ground.max_hp);
  if (!dies) return;
  ground.place[index_of(ground, agent)] = -1;
  ground.cells[from] = EMPTY;
  atomicSub(&ground.left[2 * env_id() + army_of(agent)], 1);
}

// ---- walks ----------------------------------------------------------------------------------------------------------
// A soldier moves to a cell that is empty and that no one before it in the order wants: it claims the cell, stands on
// its claim if that is the highest, and then takes the cell. Soldiers, walls and what is outside are above all claims, so
// that who stays need not be told apart: it claims its own cell in vain.
__device__ void claim(const Ground& ground, const Orders& orders, int agent) {
  if (ground.place[index_of(ground, agent)] < 0) return;
  atomicMax(&ground.cells[choice_of(ground, orders, agent).entered], claim_of(agent, orders));
}

__device__ void go(const Ground& ground, const Orders& orders, int agent) {
  int& place = ground.place[index_of(ground, agent)];
  if (place < 0) return;
  const int entered = choice_of(ground, orders, agent).entered;
  place = ground.cells[entered] == claim_of(agent, orders) ? entered : place;
}

__device__ void arrive(const Ground& ground, const Orders& orders, int agent) {
  const int at = ground.place[index_of(ground, agent)];
  if (at < 0) return;
  const int offset = choice_of(ground, orders, agent).entered - at;
  ground.cells[ground.cells[at] <= ORDERS ? at - offset : at] = EMPTY;  // where it stood before
  ground.cells[at] = soldier(agent);
  show(ground, agent, at);
}

__device__ void end_step(const Ground& ground, const Ends& ends) {
  const int env = env_id(), red = ground.left[2 * env], blue = ground.left[2 * env + 1];
  ends.red_won[env] = red > blue;
  ends.terminated[env] = red == 0 || blue == 0;
  ends.truncated[env] = red > 0 && blue > 0 && ends.timestep[env] >= ends.episode_length;
}

// ---- kernels --------------------------------------------------------------------------------------------------------
extern "C" __global__ void step(Field field, Sight sight, Strikes strikes, Pay pay, Ends ends, Orders orders) {
  if (!is_active()) return;  // guard
  const Ground ground = here(field);
  const Living living = living_of(ground);
  if (!LANES_SIDE_BY_SIDE) expect_nothing(ground, pay, ends);
  for_each(living, [&](int agent) { strike(ground, orders, strikes, agent); });
  sync_env();  // all strikes have landed
  for_each(living, [&](int agent) { reward(ground, orders, strikes, pay, agent); });
  sync_env();  // all have seen the hp from before the strikes, and who was struck
  for_each(living, [&](int agent) { suffer(ground, strikes, ends, agent); });
  sync_env();  // the dead have left
  for_each(living, [&](int agent) { claim(ground, orders, agent); });
  sync_env();  // all have claimed
  for_each(living, [&](int agent) { go(ground, orders, agent); });
  sync_env();  // all know whether they go, and have read the turn
  for_each(living, [&](int agent) { arrive(ground, orders, agent); });
  if (lane() == 0) {
    end_step(ground, ends);
    orders.turn[env_id()] = (int)Random::env().below(ORDERS);
  }
  sync_env();  // all stand where they will be seen
  look_around(ground, sight, living, ends.agent_mask);
}

// Both armies take up their formation, each at a height of its own: `formation` has columns and rows, of which `slack`
// more fit the map.
extern "C" __global__ void reset(Field field, Sight sight, int* kills, bool* red_won, int* turn, const int* formation,
                                 const int* slack) {
  if (!is_active()) return;  // guard
  const Ground ground = here(field);
  const int env = env_id(), side = side_of(ground);
  const int low = VIEW_RADIUS, high = VIEW_RADIUS + ground.map_size - 1;  // the walls
  for (int k = lane(); k < num_cells(ground); k += num_lanes()) {
    const int x = k % side, y = k / side;
    const bool is_outside = x < low || x > high || y < low || y > high;
    const bool is_wall = x == low || x == high || y == low || y == high;
    ground.cells[k] = is_outside ? OUTSIDE : is_wall ? WALL : EMPTY;
  }
  for (int k = lane(); k < 4 * num_cells(ground); k += num_lanes()) ground.planes[k] = 0;
  Random random = Random::env();  // all lanes draw the same
  const int heights[2] = {(int)random.below((unsigned)slack[0] + 1u), (int)random.below((unsigned)slack[0] + 1u)};
  const int drawn_turn = (int)random.below(ORDERS);
  sync_env();  // the map is drawn

  for (int agent = lane(); agent < NUM_AGENTS; agent += num_lanes()) {
    const int row = low + formation[2 * agent + 1] + heights[army_of(agent)];
    const int cell = row * side + low + formation[2 * agent];
    ground.place[index_of(ground, agent)] = cell;
    ground.hp[index_of(ground, agent)] = ground.max_hp;
    kills[index_of(ground, agent)] = 0;
    ground.cells[cell] = soldier(agent);
    show(ground, agent, cell);
  }
  if (lane() == 0) {
    ground.left[2 * env] = RED_COUNT;
    ground.left[2 * env + 1] = BLUE_COUNT;
    red_won[env] = false;
    turn[env] = drawn_turn;
  }
  sync_env();  // all stand where they will be seen
  look_around(ground, sight, living_of(ground), nullptr);
}
