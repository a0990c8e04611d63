// Deathmatch: agents walk through a home and shoot at each other. Rules: deathmatch.py.
//
// Arrays: per agent positions, velocity, angles, angvelocity, health, cooling, kills, deaths, potential, in_sight, what
// kills come to in won, lost and undecided, the texels of wall that it has seen since an agent died, and shot, shot_from,
// shot_to of this step; per env plan and together, whether spawns are in one room; of the world shaping, discovery and
// near_spawn. A step is: `act` moves agents and resolves all shots at the new positions; `settle`
// counts hits, pays, and marks the dead; `go_on` moves the dead elsewhere and writes every agent's state, so that an
// agent that died in a step observes its next life after it; `see` draws what cameras see, and pays for walls that are
// new. `wake` begins an episode.
#include <look_around.cuh>
#include <seen.cuh>
#include <warpworld.cuh>

#include "megastep_rules.cuh"
#include "scripts.cuh"
#include "sight.cuh"
#include "spawn.cuh"

// What agents have of their lives.
struct Lives {
  float* health;
  int *cooling, *kills, *deaths;
  float* potential;
  bool* in_sight;
};

// What the kills of an episode come to so far, 0 or 1 each.
struct Verdict {
  float *won, *lost, *undecided;
};

// What agents have seen of the walls since one of them died, and what more of them pays.
struct Search {
  unsigned* seen;
  bool* looks_anew;  // whether the next look is the first, for which nothing is paid
  const float* discovery;
};

// What agents have shot in this step.
struct Shots {
  int* shot;
  float2 *shot_from, *shot_to;
};

// What agents sense of themselves.
struct Senses {
  float *observations_imu, *observations_health;
};

// What the potential adds to rewards.
struct Shaping {
  const float* shaping;
  float shaping_gamma;
};

// What heads of 5 and 5 choices push: one 0 nothing, 1 left, 2 right, 3 forward, 4 back, the other one 0 nothing, 1
// left, 2 right, 3 slightly left, 4 slightly right.
__device__ Push push_by(int move, int turn) {
  const Push step = push_of(move);
  return Push{step.forward, step.left, (float)((turn == 1) - (turn == 2)) + 0.25f * (float)((turn == 3) - (turn == 4))};
}

__device__ bool any_of(const bool* values) {
  bool any = false;
  for (int i = 0; i < NUM_AGENTS; ++i) any |= values[i];
  return any;
}

// The first of those who hit an agent.
__device__ int killer_of(const int* shot, int who) {
  int killer = 0;
  while (shot[killer] != who) ++killer;
  return killer;
}

// Compares an agent's kills with those of all others, which a barrier has ordered.
__device__ void judge(const int* kills, const Verdict& verdict) {
  const int i = agent_index(), first = env_id() * NUM_AGENTS;
  int most = 0;
  for (int other = 0; other < NUM_AGENTS; ++other)
    if (other != agent_id()) most = max(most, kills[first + other]);
  verdict.won[i] = kills[i] > most ? 1.0f : 0.0f;
  verdict.lost[i] = kills[i] < most ? 1.0f : 0.0f;
  verdict.undecided[i] = kills[i] == most ? 1.0f : 0.0f;
}

__device__ void forget_walls(const Search& search) {
  const int i = agent_index();
  for (int word = 0; word < SEEN_WORDS; ++word) search.seen[i * SEEN_WORDS + word] = 0u;
  search.looks_anew[i] = true;
}

// Gives those who died a place, one after the other: anywhere, or where their killer is.
__device__ void respawn(const bool* died, const int* shot, const Rooms& home, bool together, float2* positions,
                        bool* stands) {
  Random random = Random::env();
  for (int i = 0; i < NUM_AGENTS; ++i) stands[i] = !died[i];
  for (int i = 0; i < NUM_AGENTS; ++i) {
    if (!died[i]) continue;
    const Rooms rooms = together ? room_at(home, positions[killer_of(shot, i)]) : home;
    put_apart(rooms, home, i, positions, stands, random);
  }
}

// Begins a life of this agent where it has been put: at rest, looking anywhere.
__device__ void wake_up(const Motions& motions) {
  const int i = agent_index();
  motions.velocity[i] = make_float2(0.0f, 0.0f);
  motions.angles[i] = Random::agent().uniform(-180.0f, 180.0f);
  motions.angvelocity[i] = 0.0f;
  motions.moved[i] = make_float2(0.0f, 0.0f);
}

extern "C" __global__ void act(Motions motions, Lives lives, Shots shots, const int* actions, const int* plan,
                               Plans plans, Inertia inertia, Gun gun, int cooldown) {
  if (!is_active()) return;
  const int i = agent_index(), env = env_id();
  const int* action = actions + 3 * i;
  const float2* places = motions.positions + env * NUM_AGENTS;
  bool* sight = lives.in_sight + i * NUM_AGENTS;
  const Walls walls = walls_of(plans, plan[env]);
  Motion motion = motions.load(i);
  push(motion, push_by(action[0], action[1]), inertia);
  walk(motion, walls, inertia.fps);
  motions.store(i, motion);
  sync_env();  // orders all places before any agent looks for others
  find_in_sight(walls, places, lives.in_sight + env * NUM_AGENTS * NUM_AGENTS);
  const bool fires = action[2] == 1 && lives.cooling[i] == 0;
  const int hit = fires ? hit_by(gun, motion, places, sight) : NO_SHOT;
  shots.shot[i] = hit;
  shots.shot_from[i] = motion.position;
  shots.shot_to[i] = hit >= 0 ? places[hit] : fires ? end_of_shot(gun, motion, walls) : motion.position;
  lives.cooling[i] = fires ? cooldown - 1 : lives.cooling[i] > 0 ? lives.cooling[i] - 1 : 0;
}

extern "C" __global__ void settle(Lives lives, Verdict verdict, Search search, float* rewards, bool* agent_terminated,
                                  bool* terminated, bool* truncated, const int* shot, const int* timestep, float damage,
                                  float kill_reward, int kills_to_win, int episode_length) {
  if (!is_active()) return;
  const int i = agent_index(), env = env_id(), first = env * NUM_AGENTS, hit = shot[i];
  int hits = 0;
  for (int other = 0; other < NUM_AGENTS; ++other) hits += shot[first + other] == agent_id();
  lives.health[i] = plane::larger(lives.health[i] - damage * (float)hits, 0.0f);
  const bool dies = lives.health[i] < 1e-3f;  // what sums of damages are off by
  agent_terminated[i] = dies;
  sync_env();  // orders who dies before killers are paid
  if (any_of(agent_terminated + first)) forget_walls(search);  // as the search for the others begins anew
  const bool kills_one = hit >= 0 && agent_terminated[first + (hit >= 0 ? hit : 0)];
  const float dealt = (hit >= 0 ? damage : 0.0f) + (kills_one ? kill_reward : 0.0f);
  rewards[i] = dealt - (float)hits * (damage + (dies ? kill_reward : 0.0f));
  lives.kills[i] += kills_one;
  lives.deaths[i] += dies;
  sync_env();  // orders kills before they are compared with each other, and with what it takes to win
  judge(lives.kills, verdict);
  if (agent_id() != 0) return;
  const int* kills = lives.kills + first;
  int most = 0;
  for (int other = 0; other < NUM_AGENTS; ++other) most = kills[other] > most ? kills[other] : most;
  terminated[env] = kills_to_win > 0 && most >= kills_to_win;
  truncated[env] = timestep[env] >= episode_length;
}

extern "C" __global__ void go_on(Motions motions, Lives lives, const int* shot, Senses senses,
                                 float* observations_cooldown, float* rewards, const bool* agent_terminated,
                                 const bool* terminated, const bool* together, const int* plan, Plans plans,
                                 float tan_half_fov, int cooldown, Shaping shaped_by) {
  if (!is_active()) return;
  ENV_SHARED(bool, stands, NUM_AGENTS);
  const int i = agent_index(), env = env_id(), first = env * NUM_AGENTS;
  float2* places = motions.positions + first;
  bool* sight = lives.in_sight + i * NUM_AGENTS;
  const bool* dead = agent_terminated + first;
  const bool died = dead[agent_id()];
  if (any_of(dead)) {
    if (agent_id() == 0) respawn(dead, shot + first, rooms_of(plans, plan[env]), together[env], places, stands);
    sync_env();  // orders new places before any agent looks for others
    find_in_sight(walls_of(plans, plan[env]), places, lives.in_sight + env * NUM_AGENTS * NUM_AGENTS);
  }
  if (died) {
    wake_up(motions);
    lives.health[i] = 1.0f;
    lives.cooling[i] = 0;
  }
  const Motion motion = motions.load(i);
  const float now = potential_of(motion, places, sight, tan_half_fov);
  const float ahead = shaped_by.shaping_gamma * (died || terminated[env] ? 0.0f : now);
  rewards[i] += shaped_by.shaping[0] * (ahead - lives.potential[i]);
  lives.potential[i] = now;
  feel(motion, senses.observations_imu + 3 * i);
  senses.observations_health[i] = lives.health[i];
  observations_cooldown[i] = (float)lives.cooling[i] / (float)cooldown;
}

extern "C" __global__ void wake(Motions motions, Lives lives, Verdict verdict, Search search, Shots shots, Senses senses,
                                float* observations_cooldown, int* plan, bool* together, const float* near_spawn,
                                Plans plans, int num_plans, float tan_half_fov) {
  if (!is_active()) return;
  ENV_SHARED(bool, stands, NUM_AGENTS);  // whether an agent has a place
  const int i = agent_index(), self = agent_id(), env = env_id();
  float2* places = motions.positions + env * NUM_AGENTS;
  bool* sight = lives.in_sight + i * NUM_AGENTS;
  if (self == 0) {
    Random random = Random::env();
    plan[env] = (int)random.below((uint32_t)num_plans);
    together[env] = random.uniform() < near_spawn[0];
    const Rooms home = rooms_of(plans, plan[env]);
    const Rooms rooms = together[env] ? any_room(home, random) : home;
    for (int agent = 0; agent < NUM_AGENTS; ++agent) stands[agent] = false;
    for (int agent = 0; agent < NUM_AGENTS; ++agent) put_apart(rooms, home, agent, places, stands, random);
  }
  sync_env();  // orders the plan and all places before they are read
  wake_up(motions);
  const Motion motion = motions.load(i);
  find_in_sight(walls_of(plans, plan[env]), places, lives.in_sight + env * NUM_AGENTS * NUM_AGENTS);
  lives.health[i] = 1.0f;
  lives.cooling[i] = lives.kills[i] = lives.deaths[i] = 0;
  lives.potential[i] = potential_of(motion, places, sight, tan_half_fov);
  shots.shot[i] = NO_SHOT;
  shots.shot_from[i] = shots.shot_to[i] = motion.position;
  feel(motion, senses.observations_imu + 3 * i);
  senses.observations_health[i] = 1.0f;
  observations_cooldown[i] = 0.0f;
  verdict.won[i] = verdict.lost[i] = 0.0f;
  verdict.undecided[i] = 1.0f;
  forget_walls(search);
}

extern "C" __global__ void see(Scene scene, Pixel* observations_rgb, Pixel* observations_depth,
                               Pixel* observations_agents, Search search, float* rewards) {
  if (!is_active()) return;
  ENV_SHARED(int, fresh, NUM_AGENTS);
  const int first = env_id() * NUM_AGENTS, first_texel = surfaces_of(scene).first_texel[0];
  const float pay = search.discovery[0];
  for (int i = lane(); i < NUM_AGENTS; i += num_lanes()) fresh[i] = 0;  // before look_around()'s first barrier
  const auto mark = [&](int self, const auto& rays) {
    if (pay <= 0.0f) return;
    int found = 0;
    mark_seen(search.seen + (first + self) * SEEN_WORDS, first_texel, rays, [&](unsigned, unsigned) { ++found; });
    if (found) atomicAdd(&fresh[self], found);
  };
  look_around<1>(scene, observations_rgb, observations_depth, observations_agents, nullptr, mark);
  sync_env();  // orders counting before the counts are read
  for (int i = lane(); i < NUM_AGENTS; i += num_lanes()) {
    if (!search.looks_anew[first + i]) rewards[first + i] += pay * (1.0f / 64.0f) * (float)fresh[i];
    search.looks_anew[first + i] = false;
  }
}

// ---- scripts --------------------------------------------------------------------------------------------------------
//
// Stands still, turns to the nearest opponent that it sees, and fires when a shot would hit. It is heavy and turns
// slightly only, so that it would come to rest closest to its aim if it braked from then on: as fast as that goes without
// overshooting. It sees as far to the sides as a camera does; while no agent is there it turns to the left.
extern "C" __global__ void turret(Played played, const float2* positions, const float* angles, const float* angvelocity,
                                  const bool* in_sight, Inertia inertia, Gun gun, float fov) {
  if (!plays(played, agent_id())) return;
  const int i = agent_index();
  const Mark mark = nearest_in_view(positions + env_id() * NUM_AGENTS, in_sight + i * NUM_AGENTS, positions[i], angles[i], fov);
  const float kept = (1.0f - inertia.decay) * angvelocity[i], more = slight_turn(inertia);
  const float after[3] = {kept, kept + more, kept - more};  // not at all, to the left, to the right
  int best = 0;
  for (int turn = 1; turn < 3; ++turn)
    if (rest_after(mark, after[turn], inertia) < rest_after(mark, after[best], inertia)) best = turn;
  const bool seen = mark.distance < INFINITY;
  const int turn = !seen || best == 1 ? SLIGHTLY_LEFT : best == 0 ? NO_TURN : SLIGHTLY_LEFT + 1;
  float* logits = choose(outputs_of(played, agent_id()), MOVES, 0);
  logits = choose(logits, TURNS, turn);
  choose(logits, FIRES, seen && would_hit(mark, left_after(mark, after[best], inertia), gun));
}

// Moves and turns at random, forward more often than not, and fires once in twenty steps.
extern "C" __global__ void walker(Played played) {
  if (!plays(played, agent_id())) return;
  float* logits = outputs_of(played, agent_id());
  for (int choice = 0; choice < MOVES + TURNS + FIRES; ++choice) logits[choice] = 0.0f;
  logits[3] = 2.0f;                             // forward
  logits[MOVES + TURNS + FIRES - 1] = -2.944f;  // ln(1 / 19)
}

// ---- megastep's rules -----------------------------------------------------------------------------------------------
//
// Arrays, beside those above: per agent spawn_positions and spawn_angles, the poses it starts in; per env spawn_plan, the
// plan that these are in, -1 before they are drawn; of the world plan_extent. A step is: `act_by_megastep` restarts the
// dead, moves all agents, and lets each shoot the agents that its two middle pixels show; then `see_by_megastep`, which
// does not show which pixels are agents. `wake_by_megastep` begins an episode.

extern "C" __global__ void act_by_megastep(Motions motions, Lives lives, Verdict verdict, Shots shots, Senses senses,
                                           Spawns spawns, float* rewards, bool* agent_terminated, bool* truncated,
                                           const int* actions, const int* timestep, const int* plan, Plans plans,
                                           MegastepRules rules) {
  if (!is_active()) return;
  ENV_SHARED(Targets, shared, 1);
  Targets& targets = shared[0];
  const int i = agent_index(), self = agent_id(), env = env_id(), first = env * NUM_AGENTS;
  const Walls walls = walls_of(plans, plan[env]);
  const Rooms home = rooms_of(plans, plan[env]);
  const float2* places = motions.positions + first;
  bool* sight = lives.in_sight + i * NUM_AGENTS;
  const bool was_dead = lives.health[i] <= 0.0f;  // and its last action will move the new body
  if (was_dead) {
    wake_by(motions, spawns, home, rules.mend_spawns);
    lives.health[i] = 1.0f;
  }
  Motion motion = motions.load(i);
  push(motion, push_of(actions[i]), rules.inertia);
  walk(motion, walls, rules.inertia.fps);
  motions.store(i, motion);
  sync_env();  // orders all places before any agent looks for others

  find_in_sight(walls, places, lives.in_sight + env * NUM_AGENTS * NUM_AGENTS);
  int one = NOBODY, two = NOBODY;
  if (rules.mend_aim) {
    one = hit_by(rules.gun, motion, places, sight);
  } else {
    const int ray = (PIXELS / 2 - 1) * SUBSAMPLE + SUBSAMPLE / 2;  // that a pixel is said to show: its middle one
    one = shown_by(motion, ray, walls, places, motions.angles + first, rules.tan_half_fov);
    two = shown_by(motion, ray + SUBSAMPLE, walls, places, motions.angles + first, rules.tan_half_fov);
    if (one == NOBODY) one = two;
    if (two == one) two = NOBODY;
  }
  targets.first[self] = one;
  targets.second[self] = two;
  shots.shot[i] = one == NOBODY ? NO_SHOT : one;
  shots.shot_from[i] = motion.position;
  shots.shot_to[i] = one == NOBODY ? motion.position : places[one];
  sync_env();  // orders all targets before hits are counted

  int hits = 0;
  for (int other = 0; other < NUM_AGENTS; ++other)
    hits += targets.first[other] == self || targets.second[other] == self;
  const float2 extent = spawns.plan_extent[plan[env]];
  const float2 limit = rules.mend_bounds ? extent : make_float2(extent.y, extent.x);
  const float2 place = motion.position;
  const bool outside = place.x < -1.0f || place.y < -1.0f || place.x > limit.x + 1.0f || place.y > limit.y + 1.0f;
  const float lost = MEGASTEP_DAMAGE * (float)(hits + outside) + MEGASTEP_DECAY;
  lives.health[i] = plane::larger(lives.health[i] - lost, 0.0f);
  const bool dies = lives.health[i] <= 0.0f;
  targets.dies[self] = dies;
  sync_env();  // orders who dies before killers are paid, and all shots before an agent is put elsewhere

  const int dealt = (one != NOBODY) + (two != NOBODY);
  const int killed = (one >= 0 && targets.dies[one < 0 ? 0 : one]) + (two >= 0 && targets.dies[two < 0 ? 0 : two]);
  // In hits, as the published reward is, so that learning sees rewards of one size.
  const float won = (float)(dealt - hits) + MEGASTEP_LIFE * rules.kill_reward * (float)(killed - (dies ? hits : 0));
  rewards[i] = rules.mend_reward ? won : (float)dealt;
  lives.kills[i] += killed;
  lives.deaths[i] += dies;
  agent_terminated[i] = rules.mend_credit ? dies : was_dead;
  if (rules.mend_credit && dies) {
    wake_by(motions, spawns, home, rules.mend_spawns);
    lives.health[i] = 1.0f;
    motion = motions.load(i);
  }
  if (self == 0) truncated[env] = timestep[env] >= rules.episode_length;
  feel(motion, senses.observations_imu + 3 * i);
  senses.observations_health[i] = lives.health[i];
  sync_env();  // orders kills before they are compared with each other
  judge(lives.kills, verdict);
}

extern "C" __global__ void wake_by_megastep(Motions motions, Lives lives, Verdict verdict, Shots shots, Senses senses,
                                            Spawns spawns, bool* together, int* plan, Plans plans, int num_plans,
                                            bool mend_spawns) {
  if (!is_active()) return;
  const int i = agent_index(), env = env_id(), first = env * NUM_AGENTS;
  const bool is_new = spawns.spawn_plan[env] < 0 || mend_spawns;
  sync_env();  // orders the reading of spawn_plan before it is set
  if (agent_id() == 0) {
    if (is_new) spawns.spawn_plan[env] = (int)Random::env().below((uint32_t)num_plans);
    plan[env] = spawns.spawn_plan[env];
    together[env] = false;
  }
  sync_env();  // orders the plan before places in it are drawn
  const Rooms home = rooms_of(plans, plan[env]);
  if (is_new) {
    Random own = Random::of(NUM_AGENTS + agent_id());
    for (int pose = i * NUM_AGENTS; pose < (i + 1) * NUM_AGENTS; ++pose) {
      spawns.spawn_positions[pose] = place_anywhere(home, own);
      spawns.spawn_angles[pose] = own.uniform(-180.0f, 180.0f);
    }
  }
  wake_by(motions, spawns, home, mend_spawns);
  sync_env();  // orders all places before any agent looks for others
  find_in_sight(walls_of(plans, plan[env]), motions.positions + first, lives.in_sight + first * NUM_AGENTS);
  const Motion motion = motions.load(i);
  lives.health[i] = 1.0f;
  lives.cooling[i] = lives.kills[i] = lives.deaths[i] = 0;
  lives.potential[i] = 0.0f;
  shots.shot[i] = NO_SHOT;
  shots.shot_from[i] = shots.shot_to[i] = motion.position;
  feel(motion, senses.observations_imu + 3 * i);
  senses.observations_health[i] = 1.0f;
  verdict.won[i] = verdict.lost[i] = 0.0f;
  verdict.undecided[i] = 1.0f;
}

extern "C" __global__ void see_by_megastep(Scene scene, Pixel* observations_rgb, Pixel* observations_depth) {
  if (!is_active()) return;
  look_around<1>(scene, observations_rgb, observations_depth, Unseen());
}
