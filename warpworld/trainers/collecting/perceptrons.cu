// Acts for up to four agent groups in one launch: small perceptrons, the draws of sample.cu and sample_box.cu from what
// they give, and the records of the rollout. Actions are those of the samplers, but for the rounding of the outputs.
//
// The build defines, for each group n from 0 to 3, the constants that struct Group names below, with _n behind them; of a
// group that there is not, AGENTS_n is 0 and the others are anything legal. WORLD_AGENTS is the number of the env's agents.
// Of the rollout's ROWS rows, `row` is written; with COUNTS_ROWS the kernel itself counts: env e has taken taken_rows[e]
// steps of the rollout, which is the row that it writes, and puts into `row` for the work behind it.
//
// LANE_PER_AGENT: an env has as many lanes as agents, so that small envs share warps. Otherwise it has any number of
// them. In both cases lanes share units of layers, then agents.
#include "drawing.cuh"
#include "perceptron.cuh"

// Where the numbers of one group lie. What a group does not use leads to a placeholder, which is never read or written.
struct GroupArrays {
  const float* weights;         // (players, numbers): layers, mean and scale of a normaliser, log_stds of a Box
  const int* players;           // (envs,): who of them plays the group; below 0 the outputs stand in `outputs`
  const float* outputs;         // (envs, AGENTS, OUTPUTS)
  const float* observations;    // (envs, OBSERVATION_AGENTS, FEATURES), the group's from OBSERVATION_FIRST on
  const bool* action_mask;      // (envs, WORLD_AGENTS, MASK_SIZE)
  const int* head_sizes;        // (NUM_HEADS,)
  const float* log_stds;        // (OUTPUTS,), where the outputs stand in `outputs`
  const float* box;             // (4, OUTPUTS)
  int* choices;                 // actions (envs, ACTION_AGENTS, NUM_HEADS), the group's from ACTION_FIRST on
  float* numbers;               // the same in a Box, (envs, ACTION_AGENTS, OUTPUTS)
  float* rollout_observations;  // these and the following (rows, envs, AGENTS, ...)
  int* rollout_choices;
  float* rollout_numbers;
  float* rollout_log_probs;
  bool* rollout_action_mask;
};

#define GROUP(n)                                                                                                  \
  struct Group##n {                                                                                               \
    static constexpr int agents = AGENTS_##n, first = AGENT_FIRST_##n, stride = AGENT_STRIDE_##n;                 \
    static constexpr int features = FEATURES_##n, hidden_1 = HIDDEN_1_##n, hidden_2 = HIDDEN_2_##n;               \
    static constexpr int outputs = OUTPUTS_##n;                                                                   \
    static constexpr Activation activation = IS_RELU_##n ? Activation::relu : Activation::tanh;                   \
    static constexpr bool normalises = NORMALISES_##n, greedy = IS_GREEDY_##n, records = RECORDS_##n;             \
    static constexpr bool masked = IS_MASKED_##n, in_box = IS_IN_BOX_##n, is_random = IS_RANDOM_##n;              \
    static constexpr int kernel = KERNEL_##n; /* whose random numbers it draws */                                 \
    static constexpr int observation_agents = OBSERVATION_AGENTS_##n, observation_first = OBSERVATION_FIRST_##n;  \
    static constexpr int action_agents = ACTION_AGENTS_##n, action_first = ACTION_FIRST_##n;                      \
    static constexpr int num_heads = NUM_HEADS_##n, head_size = HEAD_SIZE_##n, mask_size = MASK_SIZE_##n;         \
  };
GROUP(0)
GROUP(1)
GROUP(2)
GROUP(3)

constexpr int SHARED_NUMBERS = 4096;  // of an env, about: 16 KB, so that several blocks share a multiprocessor

constexpr int larger(int a, int b) { return a > b ? a : b; }

// How a group's agents are taken: `room` of them at a time, each lane's `tile` of them side by side; with LANE_PER_AGENT
// all of them.
template <class Group>
struct Layout {
  static constexpr int agents = Group::agents ? Group::agents : 1;
  static constexpr int tile = parts_of(agents, parts_of(agents, 4));
  static constexpr int per_agent = Group::hidden_1 + Group::hidden_2 + Group::outputs;
  static constexpr int most = SHARED_NUMBERS / per_agent / tile * tile;
  static constexpr int room = LANE_PER_AGENT || agents < most ? agents : most < tile ? tile : most;
  static constexpr int widest = larger(larger(Group::hidden_1, Group::hidden_2), Group::outputs);
  // From an agent's outputs to the next one's. It is odd in a warp that envs share: its lanes then read different banks.
  static constexpr int stride = LANE_PER_AGENT ? widest | 1 : Group::outputs;
  static constexpr int shared = room * (LANE_PER_AGENT ? stride : per_agent);
  static constexpr int outputs = LANE_PER_AGENT ? 0 : room * (Group::hidden_1 + Group::hidden_2);  // their place
  static constexpr int weights = (Group::hidden_1 == 0   ? (Group::features + 1) * Group::outputs
                                  : Group::hidden_2 == 0 ? (Group::features + 1) * Group::hidden_1 +
                                                             (Group::hidden_1 + 1) * Group::outputs
                                                         : (Group::features + 1) * Group::hidden_1 +
                                                             (Group::hidden_1 + 1) * Group::hidden_2 +
                                                             (Group::hidden_2 + 1) * Group::outputs);
  static constexpr int log_stds = weights + (Group::normalises ? 2 * Group::features : 0);  // where they begin
  static constexpr int player = parts_of(log_stds + (Group::in_box ? Group::outputs : 0), 4) * 4;
};

constexpr int MOST_SHARED =
    larger(larger(Layout<Group0>::shared, Layout<Group1>::shared), larger(Layout<Group2>::shared, Layout<Group3>::shared));

// The rollout's row that this step is recorded in. It is looked up where it is needed: a register that held it would be
// spilled where the kernel has few.
struct Row {
  const int* taken_rows;
  const int* row;
  int num_envs;
  __device__ int now() const { return COUNTS_ROWS ? min(taken_rows[env_id()], ROWS - 1) : row[0]; }
  // The place of the first of an env's `agents` in it.
  __device__ size_t first_of(int agents) const { return ((size_t)now() * num_envs + env_id()) * agents; }
};

// ---- one group -------------------------------------------------------------------------------------------------------
// What the network of a player gives for `count` agents from `first` on.
template <class Group>
__device__ void run_network(const GroupArrays& arrays, int player, int first, int count, float* hidden, float* outputs) {
  constexpr int features = Group::features;
  const float* weights = arrays.weights + (size_t)player * Layout<Group>::player;  // a multiple of 16 bytes
  const size_t agent = (size_t)env_id() * Group::observation_agents + Group::observation_first + first;
  const float* rows = arrays.observations + agent * features;
  auto run = [&](const auto& inputs) {
    if constexpr (LANE_PER_AGENT)
      run_layers_in_place<features, Group::hidden_1, Group::hidden_2, Group::outputs, Group::agents, Layout<Group>::stride,
                          true, Group::activation>(weights, inputs, outputs);
    else
      run_layers<features, Group::hidden_1, Group::hidden_2, Group::outputs, Layout<Group>::tile, Group::activation>(
          weights, inputs, count, Layout<Group>::room, hidden, outputs);
  };
  const float* mean = weights + Layout<Group>::weights;
  if constexpr (Group::normalises)
    run(Normalised<features>{rows, mean, mean + features});
  else
    run(Numbers<features>{rows});
}

// The outputs of `count` agents from `first` on, Layout::stride apart, by all lanes. Those of a group that acts at random are
// 0: whatever is allowed is equally likely.
template <class Group>
__device__ void put_outputs(const GroupArrays& arrays, int first, int count, float* hidden, float* outputs) {
  constexpr int size = Group::outputs, stride = Layout<Group>::stride;
  const int player = arrays.players[env_id()];
  if (player < 0) {
    const float* given = arrays.outputs + ((size_t)env_id() * Group::agents + first) * size;
    for (int i = lane(); i < count * size; i += num_lanes()) outputs[i / size * stride + i % size] = given[i];
    return;
  }
  if constexpr (Group::is_random) {
    for (int i = lane(); i < count * size; i += num_lanes()) outputs[i / size * stride + i % size] = 0.0f;
  } else {
    run_network<Group>(arrays, player, first, count, hidden, outputs);
  }
}

// Draws one agent's choices from its logits, in which forbidden ones are written over.
template <class Group>
__device__ void take_choices(const GroupArrays& arrays, int agent, float* logits, const Row& row) {
  using Own = Heads<Group::num_heads, Group::outputs, Group::head_size>;
  const int number = Group::first + Group::stride * agent;
  int* actions = arrays.choices + ((size_t)env_id() * Group::action_agents + Group::action_first + agent) * Own::count;
  const size_t recorded = Group::records ? row.first_of(Group::agents) + agent : 0;
  if constexpr (Group::masked) {
    const bool* mask = arrays.action_mask + ((size_t)env_id() * WORLD_AGENTS + number) * Group::mask_size;
    for (int i = 0; i < Own::choices; ++i) {
      if (!mask[i]) logits[i] = FORBIDDEN;
      if (Group::records) arrays.rollout_action_mask[recorded * Own::choices + i] = mask[i];
    }
  }
  if constexpr (Group::greedy) {
    take_most_likely<Own>(logits, arrays.head_sizes, actions);
  } else {
    int* kept = Group::records ? arrays.rollout_choices + recorded * Own::count : nullptr;
    const Random random = Random::of(number, Group::kernel);
    const float log_prob = choose_all<Own>(logits, arrays.head_sizes, random, actions, kept);
    if (Group::records) arrays.rollout_log_probs[recorded] = log_prob;
  }
}

// Draws one agent's numbers around its means, and records them.
template <class Group>
__device__ void draw_around(const GroupArrays& arrays, int agent, float* means, const Row& row) {
  constexpr int size = Group::outputs;
  const int player = arrays.players[env_id()];
  const float* log_stds =
      player < 0 ? arrays.log_stds : arrays.weights + (size_t)player * Layout<Group>::player + Layout<Group>::log_stds;
  const Random random = Random::of(Group::first + Group::stride * agent, Group::kernel);
  const float log_density = draw_normal<size>(means, log_stds, random, means);
  if constexpr (Group::records) {
    const size_t recorded = row.first_of(Group::agents) + agent;
    arrays.rollout_log_probs[recorded] = log_density;
    for (int i = 0; i < size; ++i) arrays.rollout_numbers[recorded * size + i] = means[i];
  }
}

// Takes one agent's action in a Box; its means are written over.
template <class Group>
__device__ void take_numbers(const GroupArrays& arrays, int agent, float* means, const Row& row) {
  constexpr int size = Group::outputs;
  const size_t place = (size_t)env_id() * Group::action_agents + Group::action_first + agent;
  if constexpr (Group::is_random) {
    Random random = Random::of(Group::first + Group::stride * agent, Group::kernel);
    draw_at_random<size>(arrays.box, random, arrays.numbers + place * size);
  } else {
    if constexpr (!Group::greedy) draw_around<Group>(arrays, agent, means, row);
    take_scaled<size>(means, arrays.box, arrays.numbers + place * size);
  }
}

// Acts for one group, and records its step in a row.
template <class Group>
__device__ void act_for(const GroupArrays& arrays, const Row& row, float* shared, bool* not_finite) {
  if constexpr (Group::agents > 0) {
    constexpr int room = Layout<Group>::room, size = Group::features;
    if constexpr (Group::records) {
      const size_t agent = (size_t)env_id() * Group::observation_agents + Group::observation_first;
      float* kept = arrays.rollout_observations + row.first_of(Group::agents) * size;
      if (!copy_finite(arrays.observations + agent * size, kept, lane(), Group::agents * size, num_lanes()))
        not_finite[env_id()] = true;  // lanes that do so write the same
    }
    float* outputs = shared + Layout<Group>::outputs;
    for (int first = 0; first < Group::agents; first += room) {
      const int count = min(room, Group::agents - first);
      put_outputs<Group>(arrays, first, count, shared, outputs);
      sync_env();  // orders the outputs before the draws
      for (int i = lane(); i < count; i += num_lanes()) {
        const int agent = first + i;
        if constexpr (Group::in_box)
          take_numbers<Group>(arrays, agent, outputs + i * Layout<Group>::stride, row);
        else
          take_choices<Group>(arrays, agent, outputs + i * Layout<Group>::stride, row);
      }
      sync_env();  // orders the draws before the next agents' numbers
    }
  }
}

// ---- all of them -----------------------------------------------------------------------------------------------------
extern "C" __global__ void act(GroupArrays arrays_0, GroupArrays arrays_1, GroupArrays arrays_2, GroupArrays arrays_3,
                               int* taken_rows, int* row, bool* not_finite, int num_envs) {
  if (!is_active()) return;  // guard
  ENV_SHARED(float, shared, MOST_SHARED);
  const Row now{taken_rows, row, num_envs};
  act_for<Group0>(arrays_0, now, shared, not_finite);
  act_for<Group1>(arrays_1, now, shared, not_finite);
  act_for<Group2>(arrays_2, now, shared, not_finite);
  act_for<Group3>(arrays_3, now, shared, not_finite);
  if (COUNTS_ROWS && lane() == 0) {  // behind the last barrier of a group, so that all lanes have read the row
    const int written = now.now();
    taken_rows[env_id()] = written + 1;
    if (env_id() == 0) row[0] = written;
  }
}
