// Regions choose how strict to be in an epidemic, and a government, the last agent, subsidises them; a step is a day.
//
// Arrays, of which each region writes its own entries: people (envs, agents, 4) shares that are susceptible, infected,
// recovered and dead; strictness (envs, agents), 1 .. LEVELS; history (envs, agents, DELAY) of it, a ring; response
// (envs, agents, FILTERS), of unemployment to what strictness changed; unemployment (envs, agents), percent. The
// government's entries stay 0. It writes subsidy (envs,), 0 .. SUBSIDIES - 1. Each agent writes its rewards, its
// action_mask and its observations_region or observations_government, see look(). Read: actions_region,
// actions_government: 0 keeps what is, k chooses the k-th level; tables (regions, ...) that tell regions apart.
#include <warpworld.cuh>

constexpr int GOVERNMENT = GOVERNMENT_FIRST, CHOICES = 1 + (LEVELS > SUBSIDIES ? LEVELS : SUBSIDIES);
constexpr int NATIONAL = 5;  // numbers that all agents see alike

struct Land {
  float* people;
  int* strictness;
  int* history;
  float* response;
  float* unemployment;
  int* subsidy;
};

struct Tables {
  const float* population;   // (regions,) shares of the nation's
  const float* contagion;    // (regions, 2) infections a day by one infected, where all is open and where all is closed
  const float* jobless;      // (regions, 1 + FILTERS) percent without a response, and weights of the filters
  const float* decay;        // (FILTERS,) of a day
};

struct Rules {
  const float* transmission;
  const float* death_rate;
  float recovery_rate, too_sick_to_work, largest_subsidy, subsidy_interest;
  float health_weight, death_cost;
};

struct Calendar {
  const int* timestep;
  int region_interval, government_interval, episode_length;
};

struct Seen {
  float* observations_region;
  float* observations_government;
  bool* action_mask;
};

__device__ bool is_government() { return agent_id() == GOVERNMENT; }
__device__ float softplus(float x) { return x > 20.0f ? x : logf(1.0f + expf(x)); }
// What a day is worth to someone who has x times the usual output: constant relative risk aversion of 2.
__device__ float worth(float x) { return 1.0f - 1.0f / fmaxf(x, 0.05f); }

// Percent of workers without work.
__device__ float joblessness(const Tables& tables, const float* response) {
  const float* jobless = tables.jobless + (1 + FILTERS) * agent_id();
  float signal = 0.0f;
  for (int k = 0; k < FILTERS; ++k) signal += jobless[1 + k] * response[k];
  return fminf(jobless[0] + softplus(signal), 100.0f);
}

// A day of the epidemic in this region; returns the share that dies.
__device__ float infect(const Tables& tables, const Rules& rules, float* people, int strictness_then) {
  const float* contagion = tables.contagion + 2 * agent_id();
  const float closed = (float)(strictness_then - 1) / (float)(LEVELS - 1);
  const float rate = rules.transmission[env_id()] * (contagion[0] + (contagion[1] - contagion[0]) * closed);
  const float infected = fminf(rate * people[0] * people[1], people[0]);
  const float leaving = rules.recovery_rate * people[1], dying = rules.death_rate[env_id()] * leaving;
  people[0] -= infected;
  people[1] += infected - leaving;
  people[2] += leaving - dying;
  people[3] += dying;
  return dying;
}

// Sums over regions, weighted by population, of `values` with `stride` numbers for each agent.
__device__ float national(const Tables& tables, const float* values, int stride) {
  float sum = 0.0f;
  for (int region = 0; region < REGION_COUNT; ++region) sum += tables.population[region] * values[stride * region];
  return sum;
}

__device__ float until(int day, int interval) { return (float)((interval - day % interval) % interval) / (float)interval; }

// Writes what this agent sees. All: the nation's infected, dead, unemployment, the subsidy, and the day. A region then:
// its own shares, strictness, unemployment, and days until its own and the government's choice. The government: the
// nation's susceptible and recovered, its mean strictness, days until its own choice.
__device__ void look(const Land& land, const Tables& tables, const Calendar& calendar, const Seen& seen, int day) {
  ENV_SHARED(float, nation, NATIONAL);
  const int env = env_id(), i = agent_index(), first = env * NUM_AGENTS;
  sync_env();  // all have written their state, and read what was here before
  if (is_government()) {
    nation[0] = national(tables, land.people + 4 * first + 1, 4);
    nation[1] = national(tables, land.people + 4 * first + 3, 4);
    nation[2] = 0.01f * national(tables, land.unemployment + first, 1);
    nation[3] = (float)land.subsidy[env] / (float)(SUBSIDIES - 1);
    nation[4] = (float)day / (float)calendar.episode_length;
  }
  sync_env();  // the nation's numbers are there
  float* out = is_government() ? seen.observations_government + OBSERVATION_SIZE_GOVERNMENT * env
                               : seen.observations_region + OBSERVATION_SIZE_REGION * group_index(0, REGION_COUNT);
  for (int k = 0; k < NATIONAL; ++k) out[k] = nation[k];
  out += NATIONAL;
  if (is_government()) {
    float strictness = 0.0f;
    for (int region = 0; region < REGION_COUNT; ++region)
      strictness += tables.population[region] * (float)land.strictness[first + region];
    out[0] = national(tables, land.people + 4 * first, 4);
    out[1] = national(tables, land.people + 4 * first + 2, 4);
    out[2] = strictness / (float)LEVELS;
    out[3] = until(day, calendar.government_interval);
  } else {
    for (int k = 0; k < 4; ++k) out[k] = land.people[4 * i + k];
    out[4] = (float)land.strictness[i] / (float)LEVELS;
    out[5] = 0.01f * land.unemployment[i];
    out[6] = until(day, calendar.region_interval);
    out[7] = until(day, calendar.government_interval);
  }
  const bool chooses = day % (is_government() ? calendar.government_interval : calendar.region_interval) == 0;
  const int choices = 1 + (is_government() ? SUBSIDIES : LEVELS);
  for (int k = 0; k < CHOICES; ++k) seen.action_mask[CHOICES * i + k] = k == 0 || (chooses && k < choices);
}

extern "C" __global__ void step(Land land, Tables tables, Rules rules, Calendar calendar, Seen seen,
                                const int* actions_region, const int* actions_government, float* rewards,
                                bool* truncated) {
  if (!is_active()) return;  // guard
  ENV_SHARED(float, output, NUM_AGENTS);  // of regions, of the usual
  ENV_SHARED(float, deaths, NUM_AGENTS);
  const int env = env_id(), i = agent_index(), today = calendar.timestep[env] - 1;  // days before this one
  if (is_government()) {
    const int choice = actions_government[env];
    if (choice > 0 && today % calendar.government_interval == 0) land.subsidy[env] = choice - 1;
  } else {
    const int choice = actions_region[group_index(0, REGION_COUNT)], was = land.strictness[i];
    const int now = choice > 0 && today % calendar.region_interval == 0 ? choice : was;
    int* then = land.history + DELAY * i + today % DELAY;
    float *people = land.people + 4 * i, *response = land.response + FILTERS * i;
    land.strictness[i] = now;
    for (int k = 0; k < FILTERS; ++k) response[k] = tables.decay[k] * response[k] + (float)(now - was);
    land.unemployment[i] = joblessness(tables, response);
    deaths[agent_id()] = infect(tables, rules, people, *then);
    *then = now;
    const float usual = 1.0f - 0.01f * (tables.jobless[(1 + FILTERS) * agent_id()] + softplus(0.0f));
    const float working = 1.0f - 0.01f * land.unemployment[i] - rules.too_sick_to_work * people[1] - people[3];
    output[agent_id()] = working / usual;
  }
  sync_env();  // the day is over in all regions, and the subsidy is known

  const float subsidy = rules.largest_subsidy * (float)land.subsidy[env] / (float)(SUBSIDIES - 1);
  const float has = is_government() ? national(tables, output, 1) - rules.subsidy_interest * subsidy
                                    : output[agent_id()] + subsidy;
  const float died = is_government() ? national(tables, deaths, 1) : deaths[agent_id()];
  rewards[i] = (1.0f - rules.health_weight) * worth(has) - rules.health_weight * rules.death_cost * died;
  if (is_government()) truncated[env] = today + 1 >= calendar.episode_length;
  look(land, tables, calendar, seen, today + 1);
}

// All is open; a few are infected, in each region another share.
extern "C" __global__ void reset(Land land, Tables tables, Calendar calendar, Seen seen, float most_infected) {
  if (!is_active()) return;  // guard
  const int i = agent_index();
  const float infected = is_government() ? 0.0f : most_infected * (0.1f + 0.9f * Random::agent().uniform());
  land.people[4 * i] = is_government() ? 0.0f : 1.0f - infected;
  land.people[4 * i + 1] = infected;
  land.people[4 * i + 2] = land.people[4 * i + 3] = 0.0f;
  land.strictness[i] = is_government() ? 0 : 1;
  for (int k = 0; k < DELAY; ++k) land.history[DELAY * i + k] = land.strictness[i];
  for (int k = 0; k < FILTERS; ++k) land.response[FILTERS * i + k] = 0.0f;
  land.unemployment[i] = is_government() ? 0.0f : joblessness(tables, land.response + FILTERS * i);
  if (is_government()) land.subsidy[env_id()] = 0;
  look(land, tables, calendar, seen, 0);
}
