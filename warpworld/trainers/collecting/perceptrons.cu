// Acts for up to four agent groups in one launch: small perceptrons, the draws of sample.cu and sample_box.cu from what
// they give, and the records of the rollout. Actions are those of the samplers, but for the rounding of the outputs.
//
// A group may have a memory between its hidden layers and its outputs: the layers of a recurrent cell (cells.cuh). It
// forgets, as forget() of memory.cu does, before it acts.
//
// The build defines, for each group n from 0 to 3, the constants that struct Group names below, with _n behind them; of a
// group that there is not, AGENTS_n is 0 and the others are anything legal. WORLD_AGENTS is the number of the env's agents;
// LEAVING and CUTTING say how agents end while their env continues, see forgetting.cuh. Of the rollout's ROWS rows, `row` is
// written; with COUNTS_ROWS the kernel itself counts: env e has taken taken_rows[e] steps of the rollout, which is the row
// that it writes, and puts into `row` for the work behind it.
//
// LANE_PER_AGENT: an env has as many lanes as agents, so that small envs share warps. Otherwise it has any number of
// them. In both cases lanes share units of layers, then agents.
#include "cells.cuh"
#include "drawing.cuh"
#include "forgetting.cuh"
#include "perceptron.cuh"

// Where the numbers of one group lie. What a group does not use leads to a placeholder, which is never read or written.
struct GroupArrays {
  const float* weights;         // (players, numbers): layers; mean and scale of a normaliser, log_stds of a Box, of values
  const int* players;           // (envs,): who of them plays the group; below 0 the outputs stand in `outputs`
  const float* outputs;         // (envs, AGENTS, OUTPUTS)
  const float* observations;    // (envs, OBSERVATION_AGENTS, FEATURES), the group's from OBSERVATION_FIRST on
  const bool* action_mask;      // (envs, WORLD_AGENTS, MASK_SIZE)
  const int* head_sizes;        // (NUM_HEADS,)
  const float* log_stds;        // (OUTPUTS,), where the outputs stand in `outputs`
  const float* box;             // (4, OUTPUTS)
  float* state;                 // (envs, AGENTS, numbers), what agents remember; of players in `weights`
  float* values;                // (envs, AGENTS), likewise
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
    static constexpr Cell cell = (Cell)CELL_##n;                                                                  \
    static constexpr int memory = MEMORY_##n, memory_layers = MEMORY_LAYERS_##n; /* units of a layer */           \
    static constexpr bool has_value = HAS_VALUE_##n, scales_values = SCALES_VALUES_##n;                           \
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

// Where the parts of a network begin in a row of `weights`.
template <class Group>
struct Places {
  static constexpr int layer(int inputs, int units) { return units ? (inputs + 1) * units : 0; }

  using Memory = CellLayer<Group::cell, Group::memory>;
  static constexpr int heads = Group::outputs + Group::has_value;  // a value is the last one
  static constexpr int encoded = Group::hidden_2 ? Group::hidden_2 : Group::hidden_1 ? Group::hidden_1 : Group::features;
  static constexpr int remembered = Group::memory ? Group::memory : encoded;  // what the heads read
  static constexpr int hidden_2 = layer(Group::features, Group::hidden_1);
  static constexpr int memory = hidden_2 + layer(Group::hidden_1, Group::hidden_2);
  // From the first layer of a memory to the second one, and from any other to the next.
  static constexpr int recalled = layer(Group::memory, Memory::recalled);
  static constexpr int first_memory = layer(encoded, Memory::said) + recalled;
  static constexpr int next_memory = layer(Group::memory, Memory::said) + recalled;
  static constexpr int all_memory = Group::memory ? first_memory + (Group::memory_layers - 1) * next_memory : 0;
  static constexpr int outputs = memory + all_memory;
  static constexpr int normaliser = outputs + layer(remembered, heads);
  static constexpr int log_stds = normaliser + (Group::normalises ? 2 * Group::features : 0);
  static constexpr int value_scale = log_stds + (Group::in_box ? Group::outputs : 0);
  static constexpr int player = parts_of(value_scale + (Group::scales_values ? 2 : 0), 4) * 4;
  static_assert(next_memory % 4 == 0, "all layers of a memory but the first are aligned as the second is");
};

// How a group's agents are taken: `room` of them at a time, each lane's `tile` of them side by side; with LANE_PER_AGENT
// all of them, and what a layer gives is written over what it reads.
template <class Group>
struct Layout {
  using Memory = CellLayer<Group::cell, Group::memory>;
  static constexpr int heads = Places<Group>::heads;
  static constexpr int agents = Group::agents ? Group::agents : 1;
  static constexpr int tile = parts_of(agents, parts_of(agents, 4));
  static constexpr int of_memory = Group::memory + Memory::said + Memory::recalled;
  static constexpr int per_agent = Group::hidden_1 + Group::hidden_2 + of_memory + heads;
  static constexpr int most = SHARED_NUMBERS / per_agent / tile * tile;
  static constexpr int room = LANE_PER_AGENT || agents < most ? agents : most < tile ? tile : most;
  static constexpr int widest =
      larger(larger(Group::hidden_1, Group::hidden_2), larger(Memory::said + Memory::recalled, heads));
  // From what a layer gives for an agent to that for the next one. It is odd in a warp that envs share: its lanes then read
  // different banks.
  static constexpr int in_place = widest | 1;
  static constexpr int apart(int units) { return LANE_PER_AGENT ? in_place : units; }
  static constexpr int stride = apart(heads), stride_1 = apart(Group::hidden_1), stride_2 = apart(Group::hidden_2);
  static constexpr int stride_of_memory = apart(Group::memory);
  static constexpr int stride_of_said = apart(Memory::said), stride_of_recalled = apart(Memory::recalled);
  static constexpr int shared = room * (LANE_PER_AGENT ? in_place : per_agent);
  // Where what layers give begins: of the hidden ones, of a memory's what each says and its hidden state, and the outputs.
  static constexpr int behind(int units) { return LANE_PER_AGENT ? 0 : room * units; }
  static constexpr int hidden_2 = behind(Group::hidden_1), memory = hidden_2 + behind(Group::hidden_2);
  static constexpr int said = memory + behind(Group::memory);
  static constexpr int recalled = LANE_PER_AGENT ? Memory::said : said + room * Memory::said;
  static constexpr int outputs = said + behind(Memory::said + Memory::recalled);
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
// One layer for `count` agents, whose weights begin PLACE numbers, or as many and a multiple of 4, behind a row's beginning.
template <class Group, int UNITS, int PLACE, Activation ACTIVATION, class Inputs>
__device__ void run(const float* weights, const Inputs& inputs, int count, float* outputs) {
  if constexpr (LANE_PER_AGENT)
    run_layer_in_place<UNITS, Group::agents, Layout<Group>::in_place, PLACE % 4 == 0, ACTIVATION>(weights, inputs, outputs);
  else
    run_layer<UNITS, Layout<Group>::tile, ACTIVATION>(weights, inputs, count, outputs);
}

// One layer of a memory for `count` agents, whose states lie side by side from `state` on: hidden states are left at
// Layout::memory.
template <class Group, int PLACE, class Inputs>
__device__ void step_layer(const float* weights, const Inputs& inputs, float* state, int count, float* shared) {
  using Own = Layout<Group>;
  using Memory = typename Own::Memory;
  constexpr int size = Group::memory, states = Group::memory_layers * Memory::state;
  constexpr int first_product = (Inputs::size + 1) * Memory::said;
  float *said = shared + Own::said, *recalled = shared + Own::recalled, *hidden = shared + Own::memory;
  run<Group, Memory::said, PLACE, Activation::none>(weights, inputs, count, said);
  if constexpr (Memory::recalled > 0)
    run<Group, Memory::recalled, PLACE + first_product, Activation::none>(weights + first_product,
                                                                          Numbers<size, states>{state}, count, recalled);
  sync_env();  // orders what the layer says before its units' steps
  for (int i = lane(); i < count * size; i += num_lanes()) {
    const int agent = i / size, unit = i % size;
    const float* of_said = said + agent * Own::stride_of_said + unit;
    const float* of_recalled = recalled + agent * Own::stride_of_recalled + unit;
    hidden[agent * Own::stride_of_memory + unit] =
        advanced<Group::cell, size>(of_said, of_recalled, state + agent * states + unit);
  }
  sync_env();  // orders hidden states before what reads them
}

// All layers of a memory; returns what its heads read.
template <class Group, class Inputs>
__device__ auto step_memory(const GroupArrays& arrays, const float* weights, const Inputs& inputs, int first, int count,
                            float* shared) {
  using At = Places<Group>;
  constexpr int layer = Layout<Group>::Memory::state, size = Group::memory;
  const Numbers<size, Layout<Group>::stride_of_memory> hidden{shared + Layout<Group>::memory};
  float* state = arrays.state + ((size_t)env_id() * Group::agents + first) * (Group::memory_layers * layer);
  step_layer<Group, At::memory>(weights + At::memory, inputs, state, count, shared);
  for (int i = 1; i < Group::memory_layers; ++i)
    step_layer<Group, At::memory + At::first_memory>(
        weights + At::memory + At::first_memory + (i - 1) * At::next_memory, hidden, state + i * layer, count, shared);
  return hidden;
}

// The layers behind the hidden ones, for `count` agents from `first` on.
template <class Group, class Inputs>
__device__ void run_heads(const GroupArrays& arrays, const float* weights, const Inputs& inputs, int first, int count,
                          float* shared) {
  using At = Places<Group>;
  float* outputs = shared + Layout<Group>::outputs;
  if constexpr (Group::memory > 0) {
    const auto hidden = step_memory<Group>(arrays, weights, inputs, first, count, shared);
    run<Group, At::heads, At::outputs, Activation::none>(weights + At::outputs, hidden, count, outputs);
  } else {
    run<Group, At::heads, At::outputs, Activation::none>(weights + At::outputs, inputs, count, outputs);
  }
}

// All layers.
template <class Group, class Inputs>
__device__ void run_layers(const GroupArrays& arrays, const float* weights, const Inputs& inputs, int first, int count,
                           float* shared) {
  using At = Places<Group>;
  using Own = Layout<Group>;
  if constexpr (Group::hidden_1 == 0) {
    run_heads<Group>(arrays, weights, inputs, first, count, shared);
  } else {
    run<Group, Group::hidden_1, 0, Group::activation>(weights, inputs, count, shared);
    sync_env();  // orders the hidden layer before what reads it
    const Numbers<Group::hidden_1, Own::stride_1> one{shared};
    if constexpr (Group::hidden_2 == 0) {
      run_heads<Group>(arrays, weights, one, first, count, shared);
    } else {
      float* second = shared + Own::hidden_2;
      run<Group, Group::hidden_2, At::hidden_2, Group::activation>(weights + At::hidden_2, one, count, second);
      sync_env();  // orders the second hidden layer before what reads it
      const Numbers<Group::hidden_2, Own::stride_2> two{second};
      run_heads<Group>(arrays, weights, two, first, count, shared);
    }
  }
}

// What the network of a player gives for `count` agents from `first` on.
template <class Group>
__device__ void run_network(const GroupArrays& arrays, int player, int first, int count, float* shared) {
  constexpr int features = Group::features;
  const float* weights = arrays.weights + (size_t)player * Places<Group>::player;  // a multiple of 16 bytes
  const size_t agent = (size_t)env_id() * Group::observation_agents + Group::observation_first + first;
  const float *rows = arrays.observations + agent * features, *mean = weights + Places<Group>::normaliser;
  if constexpr (Group::normalises)
    run_layers<Group>(arrays, weights, Normalised<features>{rows, mean, mean + features}, first, count, shared);
  else
    run_layers<Group>(arrays, weights, Numbers<features>{rows}, first, count, shared);
}

// The outputs of `count` agents from `first` on, Layout::stride apart, by all lanes. Those of a group that acts at random are
// 0: whatever is allowed is equally likely.
template <class Group>
__device__ void put_outputs(const GroupArrays& arrays, int first, int count, float* shared) {
  constexpr int size = Group::outputs, stride = Layout<Group>::stride;
  float* outputs = shared + Layout<Group>::outputs;
  const int player = arrays.players[env_id()];
  if (player < 0) {
    const float* given = arrays.outputs + ((size_t)env_id() * Group::agents + first) * size;
    for (int i = lane(); i < count * size; i += num_lanes()) outputs[i / size * stride + i % size] = given[i];
    return;
  }
  if constexpr (Group::is_random) {
    for (int i = lane(); i < count * size; i += num_lanes()) outputs[i / size * stride + i % size] = 0.0f;
  } else {
    run_network<Group>(arrays, player, first, count, shared);
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
      player < 0 ? arrays.log_stds : arrays.weights + (size_t)player * Places<Group>::player + Places<Group>::log_stds;
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

// Keeps the value of what an agent's action is chosen on, in units of reward.
template <class Group>
__device__ void keep_value(const GroupArrays& arrays, int agent, float value) {
  const int player = arrays.players[env_id()];
  if (player < 0) return;
  if constexpr (Group::scales_values) {
    const float* scale = arrays.weights + (size_t)player * Places<Group>::player + Places<Group>::value_scale;
    value = value * scale[0] + scale[1];
  }
  arrays.values[(size_t)env_id() * Group::agents + agent] = value;
}

// Empties what agents remember that begin anew, where a player in `weights` acts; memory.cu does it for others.
template <class Group>
__device__ void forget_ended(const GroupArrays& arrays, const Ends& ends) {
  constexpr int numbers = Group::memory_layers * Layout<Group>::Memory::state;
  if (arrays.players[env_id()] < 0) return;
  const Remembering group{Group::agents, Group::first, Group::stride, WORLD_AGENTS, numbers, LEAVING != 0};
  forget_agents<CUTTING != 0>(group, ends, arrays.state);
  sync_env();  // orders states that are emptied before what reads them
}

// Acts for one group, and records its step in a row.
template <class Group>
__device__ void act_for(const GroupArrays& arrays, const Ends& ends, const Row& row, float* shared, bool* not_finite) {
  if constexpr (Group::agents > 0) {
    constexpr int room = Layout<Group>::room, size = Group::features, stride = Layout<Group>::stride;
    if constexpr (Group::records) {
      const size_t agent = (size_t)env_id() * Group::observation_agents + Group::observation_first;
      float* kept = arrays.rollout_observations + row.first_of(Group::agents) * size;
      if (!copy_finite(arrays.observations + agent * size, kept, lane(), Group::agents * size, num_lanes()))
        not_finite[env_id()] = true;  // lanes that do so write the same
    }
    if constexpr (Group::memory > 0) forget_ended<Group>(arrays, ends);
    for (int first = 0; first < Group::agents; first += room) {
      const int count = min(room, Group::agents - first);
      put_outputs<Group>(arrays, first, count, shared);
      sync_env();  // orders the outputs before the draws
      for (int i = lane(); i < count; i += num_lanes()) {
        const int agent = first + i;
        float* outputs = shared + Layout<Group>::outputs + i * stride;
        if constexpr (Group::has_value) keep_value<Group>(arrays, agent, outputs[Group::outputs]);
        if constexpr (Group::in_box)
          take_numbers<Group>(arrays, agent, outputs, row);
        else
          take_choices<Group>(arrays, agent, outputs, row);
      }
      sync_env();  // orders the draws before the next agents' numbers
    }
  }
}

// ---- all of them -----------------------------------------------------------------------------------------------------
extern "C" __global__ void act(GroupArrays arrays_0, GroupArrays arrays_1, GroupArrays arrays_2, GroupArrays arrays_3,
                               Ends ends, int* taken_rows, int* row, bool* not_finite, int num_envs) {
  if (!is_active()) return;  // guard
  ENV_SHARED(float, shared, MOST_SHARED);
  const Row now{taken_rows, row, num_envs};
  act_for<Group0>(arrays_0, ends, now, shared, not_finite);
  act_for<Group1>(arrays_1, ends, now, shared, not_finite);
  act_for<Group2>(arrays_2, ends, now, shared, not_finite);
  act_for<Group3>(arrays_3, ends, now, shared, not_finite);
  if (COUNTS_ROWS && lane() == 0) {  // behind the last barrier of a group, so that all lanes have read the row
    const int written = now.now();
    taken_rows[env_id()] = written + 1;
    if (env_id() == 0) row[0] = written;
  }
}
