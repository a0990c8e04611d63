// A policy's networks on the host's cores: forward, and the whole gradient of a minibatch's loss.
//
// Samples are taken in strips through all layers, forward and backward, so that nothing between the layers leaves the
// cache. A minibatch is cut into chunks of strips, whatever the number of workers; each sums its own gradient, and these
// are added up in order: results are the same, bit for bit, on any number of workers. The cpu backend's workers run strips
// and chunks as they run the blocks of a kernel.

#include <time.h>

#include "adam.hpp"
#include "cpu/program.hpp"
#include "shuffle.hpp"
#include "forward.hpp"
#include "gae.hpp"
#include "joining.hpp"
#include "rate.hpp"
#include "transitions.hpp"
#include "variance.hpp"

namespace fused {

// fused/calls.py mirrors it.
struct GradientCall {
  Model* model;
  const LayerParameters* parameters;
  const float* log_std;  // (outputs of the actor,); null with choices
  float* log_std_gradient;
  Rows rows;
  int64_t sequences;  // that there are, or rows without a memory
  Places places;
  const uint8_t* starts;
  const float* states;  // (sequences, state size): of both trunks, the actor's first
  // of networks of values: either may be given instead of the loss below
  const float* of_outputs;  // (rows, outputs), the gradient there of a loss that torch computes
  const TransitionRows* transitions;  // whose loss it is
  Loss loss;
  Common common;
  double diagnostics[num_diagnostics];
  int bad_action;  // 1 if an action does not exist
};

// The gradients of several minibatches, each with a step of Adam along it; fused/calls.py mirrors it.
struct StepsCall {
  GradientCall* gradient;  // of one minibatch after the other: see places()
  AdamStep* step;
  ww_program* chunks;      // runs those of a gradient
  const int64_t *order, *bounds;  // (minibatches + 1,): where in the order the rows or sequences of each minibatch begin
  Common* commons;                // (minibatches,)
  int64_t minibatches, done;
  float* found;  // (minibatches, num_diagnostics + 1): diagnostics, and the gradient's length
  RateRule rule;
  int has_moved;  // whether a step was taken since the rows' policy acted

  Places places(int64_t minibatch) const {
    Places those = gradient->places;
    those.count = bounds[minibatch + 1] - bounds[minibatch];
    those.index = order + bounds[minibatch];
    return those;
  }
};

// Calls `use` with each layer of a trunk that has weights, and torch's; returns what comes behind them.
template <class TrunkType, class Use>
static const LayerParameters* for_layers(TrunkType& trunk, const LayerParameters* parameters, Use use) {
  for (int i = 0; i < trunk.shape.num_layers; i++)
    if (trunk.layers[i].shape.weight_rows) use(trunk.layers[i], *parameters++);
  return parameters;
}

// Copies the weights of the trunks that these heads read, and theirs.
static void pack(Model& model, const LayerParameters* parameters, bool acts, bool judges) {
  for (int i = 0; i < model.num_trunks; i++) {
    const bool is_read = (acts && model.actor.trunk == i) || (judges && model.critic.trunk == i);
    parameters = for_layers(model.trunks[i], parameters, [=](Layer& layer, const LayerParameters& given) {
      if (is_read) pack(layer, given);
    });
  }
  if (acts) pack(model.actor.layer, parameters[0]);
  if (judges || (acts && model.is_dueling)) pack(model.critic.layer, parameters[1]);
}

// ---- gradient -------------------------------------------------------------------------------------------------------
// Copies the gradients at a tile's outputs, which torch computed, to (outputs, tile); zeros where there is no row.
static void take_given(const float* given, int outputs, const TileRows& those, float* to) {
  for (int o = 0; o < outputs; o++)
    for (int s = 0; s < tile; s++)
      to[o * tile + s] = s < those.samples && those.counts[s] ? given[those.rows[s] * outputs + o] : 0.0f;
}

// The loss of one head on one tile: from logits, means or values in `scratch` to their gradients there.
static bool loss_of_head(const GradientCall& call, const Head& head, const TileRows& those, const LossScratch& scratch,
                         double* diagnostics, float* of_log_std) {
  const Model& model = *call.model;
  if (&head == &model.critic) {
    take_critics_columns(call.rows, those, call.common, scratch);
    critic_loss(call.loss, scratch, scratch.logits, scratch.gradients, diagnostics);
    return true;
  }
  take_actors_columns(call.rows, those, call.common, scratch);
  if (!model.is_box)
    return actor_loss(call.rows, those, model.head_sizes, model.num_heads, call.loss, scratch, diagnostics);
  box_loss(call.rows, those, Widths{head.outputs, call.log_std}, call.loss, scratch, diagnostics, of_log_std);
  return true;
}

// The gradient at a tile's values of choices, given, or that of the loss of transitions; returns false if an action does
// not exist.
static bool gradient_at_values(const GradientCall& call, const TileRows& those, int rows, const float* x,
                               const LossScratch& scratch, double* diagnostics) {
  const Model& model = *call.model;
  if (call.of_outputs) {
    take_given(call.of_outputs, model.actor.outputs, those, scratch.gradients);
    return true;
  }
  if (!take_choices(call.rows, those, model.head_sizes, model.num_heads, scratch)) return false;
  forward_actor(model, rows, x, scratch.logits, scratch.values);
  huber_of(model, *call.transitions, those, scratch, diagnostics);
  return true;
}

// A trunk's heads on a strip: their losses, and the gradient at the top slab.
static bool gradient_at_top(const GradientCall& call, int number, const Strip& strip, const Slabs& slabs,
                            const Scratch& scratch, float* sums, double* diagnostics) {
  const Model& model = *call.model;
  const Trunk& trunk = model.trunks[number];
  const LossScratch& loss = model.loss[ww_this_thread.worker];
  const SlabShape& top = trunk.slabs[trunk.shape.top];
  bool is_right = true;
  for_tiles(strip.rows, [&](int first, int rows) {
    const int live = strip.live_rows() - first, samples = live < rows ? live : rows;
    const TileRows those{scratch.rows + first, scratch.counts + first, samples};
    const float* x = slabs.values[trunk.shape.top] + (size_t)first * top.columns;
    float* to = slabs.deltas[trunk.shape.top] + (size_t)first * top.columns;
    const auto through = [&](const Head& head, const float* of_outputs) {
      add_gradients(head, samples, x, of_outputs, sums);
      if (trunk.shape.top) backward(head, rows, of_outputs, x, to, top.activation, top.is_summed);
    };
    if (call.of_outputs || call.transitions) {
      is_right = is_right && gradient_at_values(call, those, rows, x, loss, diagnostics);
      if (model.is_dueling) part_gradients(model, loss.gradients, loss.values);
      through(model.actor, loss.gradients);
      if (model.is_dueling) through(model.critic, loss.values);
      return;
    }
    const Head* const heads[] = {&model.actor, &model.critic};
    for (const Head* head : heads) {
      if (head->trunk != number || !is_right) continue;
      forward(*head, rows, x, loss.logits);
      is_right = loss_of_head(call, *head, those, loss, diagnostics, sums + model.width_sums);
      through(*head, loss.gradients);
    }
  });
  return is_right;
}

// Lets what the next strip reads be fetched while this one is computed; sequences lie behind each other in memory.
static void fetch_next(const GradientCall& call, int64_t number, Fetching& ahead) {
  const Places& places = call.places;
  const Rows& rows = call.rows;
  ahead.begin(nullptr, nullptr);
  if (places.steps > 1 || !places.index) return;
  const Model& model = *call.model;
  const int64_t at_once = agents_at_once(model, 1), first = (number + 1) * at_once, end = first + at_once;
  if (first >= places.count) return;
  ahead.begin(places.index + first, places.index + (end < places.count ? end : places.count));
  ahead.add(rows.observations.first, rows.observations.row_bytes);
  ahead.add(rows.critic_inputs.first, rows.critic_inputs.row_bytes);
  ahead.add(rows.actions, model.num_heads * sizeof(int32_t));
  ahead.add(rows.box_actions, model.actor.outputs * sizeof(float));
  const float* const columns[] = {rows.log_probs, rows.advantages, rows.returns, rows.values, rows.importance};
  for (const float* column : columns) ahead.add(column, sizeof(float));
  ahead.add(rows.action_masks, model.actor.outputs);
}

// Which rows of a strip count: those that there are, and of which it is not said that they do not.
static void find_counts(const uint8_t* said, int count, const int64_t* rows, uint8_t* counts) {
  if (said)
    for (int r = 0; r < count; r++) counts[r] = rows[r] >= 0 && said[rows[r]];
  else
    for (int r = 0; r < count; r++) counts[r] = rows[r] >= 0;
}

static bool gradient_of_strip(const GradientCall& call, int64_t number, float* sums, double* diagnostics) {
  const Model& model = *call.model;
  const Scratch& scratch = model.scratch[ww_this_thread.worker];
  Strip strip = strip_of(model, call.places, number, call.starts, scratch);
  fetch_next(call, number, *scratch.layers.ahead);
  find_counts(call.rows.counts, strip.rows, scratch.rows, scratch.counts);
  const float* states = call.states;
  for (int i = 0; i < model.num_trunks; i++) {
    const Trunk& trunk = model.trunks[i];
    const Slabs slabs = slabs_of(trunk, scratch, strip.rows);
    begin_with(model, trunk, call.places, number, states, model.state_size(), scratch, strip);
    if (states) states += trunk.state_size();
    const bool is_apart = i > 0 && call.rows.critic_inputs.first;
    if (i == 0 || is_apart || !is_gathered_alike(model.trunks[i - 1], trunk))
      gather(trunk, strip.rows, scratch.rows, is_apart ? call.rows.critic_inputs : call.rows.observations,
             slabs.values[0]);
    forward(trunk, strip, slabs, scratch);
    clear_sums(trunk, strip, slabs);
    if (!gradient_at_top(call, i, strip, slabs, scratch, sums, diagnostics)) return false;
    backward(trunk, strip, strip.live_rows(), slabs, scratch, sums);
  }
  return true;
}

static void gradient_of_chunk(GradientCall& call, unsigned chunk) {
  Model& model = *call.model;
  const int64_t strips = strips_of(model, call.places), chunks = chunks_of(model, call.places);
  memset(model.sums[chunk], 0, model.all_sums * sizeof(float));
  memset(model.diagnostics[chunk], 0, sizeof model.diagnostics[chunk]);
  const int64_t first = first_strip(strips, chunks, chunk), end = first_strip(strips, chunks, chunk + 1);
  for (int64_t i = first; i < end; i++)
    if (!gradient_of_strip(call, i, model.sums[chunk], model.diagnostics[chunk])) {
      __atomic_store_n(&call.bad_action, 1, __ATOMIC_RELAXED);
      return;
    }
}

static void run_forward(const ww_launch* launch, unsigned first, unsigned end) {
  const ForwardCall& call = *(const ForwardCall*)launch->args[0];
  for (unsigned i = first; i < end; i++) forward_strip(call, i);
}

static void run_joining(const ww_launch* launch, unsigned first, unsigned end) {
  join(*(const JoiningCall*)launch->args[0], first, end);
}

static void run_acting(const ww_launch* launch, unsigned first, unsigned end) {
  act(*(const ActingCall*)launch->args[0], first, end);
}

static void run_gradient(const ww_launch* launch, unsigned first, unsigned end) {
  GradientCall& call = *(GradientCall*)launch->args[0];
  for (unsigned i = first; i < end; i++) gradient_of_chunk(call, i);
}

// What each minibatch's rows have in common: workers take one each, where steps are taken by one after the other.
static void run_commons(const ww_launch* launch, unsigned first, unsigned end) {
  const StepsCall& call = *(const StepsCall*)launch->args[0];
  const GradientCall& gradient = *call.gradient;
  for (unsigned i = first; i < end; i++)
    call.commons[i] = checked_common_of(gradient.rows, call.places(i), gradient.sequences, gradient.loss);
}

// Passes are shuffled in parallel.
static void run_shuffles(const ww_launch* launch, unsigned first, unsigned end) {
  const Shuffle* const shuffles = *(const Shuffle* const*)launch->args[0];
  for (unsigned i = first; i < end; i++) shuffle_pass(shuffles[i]);
}

// Before the chunks of a gradient; returns their number, -1 if there is no memory for them, -2 if a row does not exist.
static int begin_gradient(GradientCall& call, const Common& common) {
  if (common.count == no_such_row) return -2;
  if (!make_room(*call.model, strip_rows(*call.model, call.places))) return -1;
  pack(*call.model, call.parameters, true, call.model->has_critic);
  call.common = common;
  call.bad_action = 0;
  return chunks_of(*call.model, call.places);
}

// ---- steps ----------------------------------------------------------------------------------------------------------
constexpr double most_seconds = 0.05;  // of steps in one call, which takes one at least: Ctrl-C is seen between calls

static double seconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

}  // namespace fused

#pragma GCC visibility push(default)
extern "C" {

int ww_run_program(ww_program*);  // the runtime's

extern const ww_kernel ww_kernel_forward = {WW_ABI, "forward", fused::run_forward};
extern const ww_kernel ww_kernel_acting = {WW_ABI, "acting", fused::run_acting};
extern const ww_kernel ww_kernel_joining = {WW_ABI, "joining", fused::run_joining};
extern const ww_kernel ww_kernel_commons = {WW_ABI, "commons", fused::run_commons};
extern const ww_kernel ww_kernel_shuffles = {WW_ABI, "shuffles", fused::run_shuffles};
extern const ww_kernel ww_kernel_gradient = {WW_ABI, "gradient", fused::run_gradient};

// Floats of a vector: slabs have whole ones.
int fused_lanes() { return fused::lanes; }

// Whether pairs of bfloat16 are multiplied by the processor.
int fused_has_pairs() { return fused::has_pairs; }

void fused_free(fused::Model* model) {
  using fused::release;
  release(model->block);
  release(model->scratch_block);
  free(model);
}

// Null if there is no memory for it; `fused_free` takes it back.
fused::Model* fused_make(const fused::ModelShape* shape) {
  using namespace fused;
  Model* model = (Model*)calloc(1, sizeof(Model));
  if (!model) return nullptr;
  model->num_trunks = shape->num_trunks;
  model->num_heads = shape->num_heads;
  model->is_box = shape->num_heads == 0;
  model->has_critic = shape->has_critic;
  model->is_dueling = shape->is_dueling;
  model->num_workers = shape->num_workers;
  model->num_learners = shape->num_learners;
  model->block = allocated([&](Arena& arena) { lay_out(*model, *shape, arena); });
  if (model->block && make_room(*model, tile)) return model;
  fused_free(model);
  return nullptr;
}

void fused_set_targets(const fused::TransitionRows* rows, const fused::Model* model) { fused::set_targets(*rows, *model); }

void fused_gae(fused::Gae* call) { fused::estimate(*call); }

void fused_variance(fused::Variance* call) { fused::find_variance(*call); }

void fused_adam_step(fused::AdamStep* call) { fused::adam_step(*call); }

// Before the strips of a forward; returns their number, -1 if there is no memory for them.
int fused_begin_forward(fused::ForwardCall* call) {
  if (!fused::make_room(*call->model, fused::strip_rows(*call->model, call->places))) return -1;
  fused::pack(*call->model, call->parameters, call->outputs, call->values);
  return fused::strips_of(*call->model, call->places);
}

// See begin_gradient.
int fused_begin_gradient(fused::GradientCall* call) {
  if (call->of_outputs || call->transitions)
    return fused::begin_gradient(*call, fused::Common{0.0f, 1.0f, 0.0f, call->places.count});
  return fused::begin_gradient(*call, fused::checked_common_of(call->rows, call->places, call->sequences, call->loss));
}

// After the chunks: adds them up in order, and writes the gradient to torch's memory.
void fused_end_gradient(fused::GradientCall* call) {
  using namespace fused;
  Model& model = *call->model;
  const int chunks = chunks_of(model, call->places);
  float* sums = model.sums[0];
  for (size_t i = 0; i < model.all_sums; i += lanes) {
    Vector total = load(sums + i);
    for (int chunk = 1; chunk < chunks; chunk++) total += load(model.sums[chunk] + i);
    store(sums + i, total);
  }
  for (int d = 0; d < num_diagnostics; d++) {
    double total = 0;
    for (int chunk = 0; chunk < chunks; chunk++) total += model.diagnostics[chunk][d];
    call->diagnostics[d] = call->common.count ? total / call->common.count : 0;
  }
  const LayerParameters* parameters = call->parameters;
  for (int i = 0; i < model.num_trunks; i++)
    parameters = for_layers(model.trunks[i], parameters, [&](const Layer& layer, const LayerParameters& given) {
      write_gradients(layer, sums, given);
    });
  write_gradients(model.actor, sums, parameters[0]);
  if (model.has_critic) write_gradients(model.critic, sums, parameters[1]);
  if (model.is_box) memcpy(call->log_std_gradient, sums + model.width_sums, model.actor.outputs * sizeof(float));
}

// Takes steps until all are taken, or some time has passed. Returns 0 if these were taken, what `fused_begin_gradient`
// returns if it is no number, -3 if an action does not exist, or the program's error.
int fused_take_steps(fused::StepsCall* call) {
  using namespace fused;
  GradientCall& gradient = *call->gradient;
  for (const double end = seconds() + most_seconds; call->done < call->minibatches;) {
    gradient.places = call->places(call->done);
    const int chunks = begin_gradient(gradient, call->commons[call->done]);
    if (chunks < 0) return chunks;
    call->chunks->context.num_envs = chunks;
    if (const int error = ww_run_program(call->chunks)) return error;
    if (gradient.bad_action) return -3;
    fused_end_gradient(&gradient);
    if (call->rule.desired_kl > 0 && call->has_moved)
      call->step->rate = adapted_rate(call->rule, call->step->rate, gradient.diagnostics[approx_kl]);
    adam_step(*call->step);
    call->has_moved = 1;
    float* found = call->found + call->done * (num_diagnostics + 1);
    for (int d = 0; d < num_diagnostics; d++) found[d] = gradient.diagnostics[d];
    found[num_diagnostics] = call->step->norm;
    call->done++;
    if (seconds() > end) break;
  }
  return 0;
}
}
#pragma GCC visibility pop
