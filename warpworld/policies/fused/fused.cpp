// A policy's networks on the host's cores: forward, and the whole gradient of a minibatch's loss.
//
// Samples are taken in strips through all layers, forward and backward, so that nothing between the layers leaves the
// cache. A minibatch is cut into chunks of strips, whatever the number of workers; each sums its own gradient, and these
// are added up in order: results are the same, bit for bit, on any number of workers. The cpu backend's workers run strips
// and chunks as they run the blocks of a kernel.

#include <time.h>

#include "adam.hpp"
#include "cpu/program.hpp"
#include "deal.hpp"
#include "gae.hpp"
#include "model.hpp"
#include "variance.hpp"

namespace fused {

// fused/calls.py mirrors it.
struct ForwardCall {
  Model* model;
  const LayerParameters* parameters;  // of all layers, trunk by trunk, then of the actor and the critic
  const float* observations;
  Runs runs;  // of the observations
  Places places;
  const uint8_t* starts;  // where the state is 0 before the step; null where it is nowhere
  const float* states;    // (count, state size), before the first step; null without a memory
  float *outputs, *values, *after;  // (count * steps, outputs), (count * steps,), (count, state size); each may be null
};

// Policies act: a forward for some envs' agents, as a step of a world's program; fused/calls.py mirrors it.
struct ActingCall {
  ForwardCall forward;  // a step of all agents of envs first_env .. end_env - 1, without a memory
  int64_t agents;       // of an env
  int64_t first_env, end_env, envs_per_block;
};

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
  const float* states;
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
  if (judges) pack(model.critic.layer, parameters[1]);
}

// ---- forward --------------------------------------------------------------------------------------------------------
// What a head makes of a strip, at the places of its rows.
static void put_outputs(const Head& head, const Strip& strip, const Slabs& slabs, const Trunk& trunk,
                        const int64_t* places, float* y, float* out) {
  const int columns = trunk.slabs[trunk.shape.top].columns;
  for_tiles(strip.rows, [&](int first, int rows) {
    forward(head, rows, slabs.values[trunk.shape.top] + (size_t)first * columns, y);
    for (int s = 0; s < rows; s++)
      for (int o = 0; o < head.outputs && places[first + s] >= 0; o++)
        out[places[first + s] * head.outputs + o] = y[o * tile + s];
  });
}

static void put_state(const ForwardCall& call, const Strip& strip, int64_t first) {
  const TrunkShape& shape = call.model->trunks[0].shape;
  const int size = shape.part_size, columns = rounded_up(size, lanes);
  for (int a = 0; a < strip.agents; a++)
    for (int part = 0; part < shape.state_parts; part++)
      memcpy(call.after + (call.places.sequence(first + a) * shape.state_parts + part) * size,
             strip.last(part, columns, a), size * sizeof(float));
}

// Where the observations of a strip's rows are.
static const int64_t* places_of(const Runs& runs, const Strip& strip, const Scratch& scratch) {
  if (!runs.are_apart()) return scratch.rows;
  for (int r = 0; r < strip.rows; r++) scratch.places[r] = scratch.rows[r] < 0 ? -1 : runs.place(scratch.rows[r]);
  return scratch.places;
}

static void forward_strip(const ForwardCall& call, int64_t number) {
  const Model& model = *call.model;
  const Scratch& scratch = model.scratch[ww_this_thread.worker];
  Strip strip = strip_of(model, call.places, number, call.starts, call.states, scratch);
  if (call.after) strip.after = scratch.after;
  const int64_t* observed = places_of(call.runs, strip, scratch);
  *scratch.layers.ahead = Fetching{};
  for (int i = 0; i < model.num_trunks; i++) {
    const Trunk& trunk = model.trunks[i];
    const bool acts = call.outputs && model.actor.trunk == i, judges = call.values && model.critic.trunk == i;
    if (!acts && !judges) continue;
    const Slabs slabs = slabs_of(trunk, scratch, strip.rows);
    gather(trunk, strip.rows, observed, call.observations, slabs.values[0]);
    forward(trunk, strip, slabs, scratch);
    float* y = model.loss[ww_this_thread.worker].logits;
    if (acts) put_outputs(model.actor, strip, slabs, trunk, scratch.rows, y, call.outputs);
    if (judges) put_outputs(model.critic, strip, slabs, trunk, scratch.rows, y, call.values);
  }
  if (call.after) put_state(call, strip, number * agents_at_once(model, call.places.steps));
}

// Of the blocks' envs those in which the policy acts.
static void act(const ActingCall& call, int64_t first_block, int64_t end_block) {
  const int64_t given = first_block * call.envs_per_block, first = given < call.first_env ? call.first_env : given,
                limit = end_block * call.envs_per_block, end = limit > call.end_env ? call.end_env : limit;
  if (first >= end) return;
  const int64_t row = (first - call.first_env) * call.agents;
  ForwardCall some = call.forward;
  some.places.count = (end - first) * call.agents;
  some.observations += some.runs.place(row) * some.model->trunks[0].shape.features;
  some.outputs += row * some.model->actor.outputs;
  for (int64_t i = 0; i < strips_of(*some.model, some.places); i++) forward_strip(some, i);
}

// ---- gradient -------------------------------------------------------------------------------------------------------
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
    const Head* const heads[] = {&model.actor, &model.critic};
    for (const Head* head : heads) {
      if (head->trunk != number || !is_right) continue;
      forward(*head, rows, x, loss.logits);
      is_right = loss_of_head(call, *head, those, loss, diagnostics, sums + model.width_sums);
      add_gradients(*head, samples, x, loss.gradients, sums);
      if (trunk.shape.top) backward(*head, rows, loss.gradients, x, to, top.activation, top.is_summed);
    }
  });
  return is_right;
}

// Lets what the next strip reads be fetched while this one is computed; sequences lie behind each other in memory.
static void fetch_next(const GradientCall& call, int64_t number, Fetching& ahead) {
  const Places& places = call.places;
  const Rows& rows = call.rows;
  ahead = Fetching{};
  if (places.steps > 1) return;
  const Model& model = *call.model;
  const int64_t at_once = agents_at_once(model, 1), first = (number + 1) * at_once, end = first + at_once;
  if (first >= places.count) return;
  ahead.next = places.index + first;
  ahead.end = places.index + (end < places.count ? end : places.count);
  ahead.add(rows.observations, model.trunks[0].shape.features * sizeof(float));
  ahead.add(rows.actions, model.num_heads * sizeof(int32_t));
  ahead.add(rows.box_actions, model.actor.outputs * sizeof(float));
  const float* const columns[] = {rows.log_probs, rows.advantages, rows.returns, rows.values};
  for (const float* column : columns) ahead.add(column, sizeof(float));
  ahead.add(rows.action_masks, model.actor.outputs);
}

static bool gradient_of_strip(const GradientCall& call, int64_t number, float* sums, double* diagnostics) {
  const Model& model = *call.model;
  const Scratch& scratch = model.scratch[ww_this_thread.worker];
  const Strip strip = strip_of(model, call.places, number, call.starts, call.states, scratch);
  fetch_next(call, number, *scratch.layers.ahead);
  for (int r = 0; r < strip.rows; r++)
    scratch.counts[r] = scratch.rows[r] >= 0 && (!call.rows.counts || call.rows.counts[scratch.rows[r]]);
  for (int i = 0; i < model.num_trunks; i++) {
    const Trunk& trunk = model.trunks[i];
    const Slabs slabs = slabs_of(trunk, scratch, strip.rows);
    if (i == 0 || !is_gathered_alike(model.trunks[i - 1], trunk))
      gather(trunk, strip.rows, scratch.rows, call.rows.observations, slabs.values[0]);
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

// Passes are dealt side by side.
static void run_deals(const ww_launch* launch, unsigned first, unsigned end) {
  const Deal* const deals = *(const Deal* const*)launch->args[0];
  for (unsigned i = first; i < end; i++) deal_out(deals[i]);
}

// Before the chunks of a gradient; returns their number, -1 if there is no memory for them, -2 if a row does not exist.
static int begin_gradient(GradientCall& call, const Common& common) {
  if (common.count == no_such_row) return -2;
  if (!make_room(*call.model, strip_rows(*call.model, call.places))) return -1;
  pack(*call.model, call.parameters, true, true);
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
extern const ww_kernel ww_kernel_commons = {WW_ABI, "commons", fused::run_commons};
extern const ww_kernel ww_kernel_deals = {WW_ABI, "deals", fused::run_deals};
extern const ww_kernel ww_kernel_gradient = {WW_ABI, "gradient", fused::run_gradient};

// Floats of a vector: slabs have whole ones.
int fused_lanes() { return fused::lanes; }

// Whether pairs of bfloat16 are multiplied by the processor.
int fused_has_pairs() { return fused::has_pairs; }

void fused_free(fused::Model* model) {
  free(model->block);
  free(model->scratch_block);
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
  model->num_workers = shape->num_workers;
  model->block = allocated([&](Arena& arena) { lay_out(*model, *shape, arena); });
  if (model->block && make_room(*model, tile)) return model;
  fused_free(model);
  return nullptr;
}

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
  write_gradients(model.critic, sums, parameters[1]);
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
    adam_step(*call->step);
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
