// Actor and critic, both plain multi-layer perceptrons: forward, and the whole gradient of a minibatch's loss.
//
// Samples are taken in tiles through all layers, forward and backward, so that nothing between the layers leaves the
// cache. A minibatch is cut into chunks, whatever the number of workers; each sums its own gradient, and these are
// added up in order: results are the same, bit for bit, on any number of workers. The cpu backend's workers run tiles
// and chunks as they run the blocks of a kernel.

#include <stdlib.h>

#include "cpu/abi.hpp"
#include "gaussian.hpp"

namespace fused {

constexpr int max_chunks = 16;
constexpr int tiles_per_chunk = 2;  // at least: a chunk's gradient has to be cleared and added up

// Actor and critic with all the memory that they need.
struct Model {
  Network actor, critic;
  int relu, num_heads;
  const int* head_sizes;
  int is_box;               // actions lie in a Box, of as many dimensions as the actor has outputs
  float* sums[max_chunks];  // the actor's, then the critic's, then those of the widths
  double diagnostics[max_chunks][num_diagnostics];
  struct {
    Scratch network;
    LossScratch loss;
  } scratch[WW_MAX_WORKERS];
  size_t critic_sums, width_sums;  // where the other parts begin
  int num_workers;
};

// fused/networks.py mirrors it.
struct ForwardCall {
  Model* model;
  int critic;
  const LayerParameters* parameters;
  const float* observations;
  int64_t count;
  float* outputs;  // (count, outputs)
};

// fused/networks.py mirrors it.
struct GradientCall {
  Model* model;
  const LayerParameters *actor, *critic;
  const float* log_std;  // (outputs of the actor,); null with choices
  float* log_std_gradient;
  Rows rows;
  Loss loss;
  Common common;
  double diagnostics[num_diagnostics];
  int bad_action;  // 1 if an action does not exist
};

static int tiles_of(int64_t count) { return (int)((count + tile - 1) / tile); }

static int chunks_of(int64_t count) {
  const int chunks = tiles_of(count) / tiles_per_chunk;
  return chunks < 1 ? 1 : chunks > max_chunks ? max_chunks : chunks;
}

// Floats of one chunk's gradients, whole vectors.
static size_t all_sums(const Model& model) {
  return model.width_sums + (model.is_box ? rounded_up(model.actor.last().outputs, lanes) : 0);
}

static size_t larger_of(size_t a, size_t b) { return a > b ? a : b; }

static void lay_out(Model& model, const int* actor, int num_actor, const int* critic, int num_critic, Arena& arena) {
  lay_out(model.actor, actor, num_actor, arena);
  lay_out(model.critic, critic, num_critic, arena);
  int* head_sizes = (int*)arena.take(model.num_heads);
  model.head_sizes = head_sizes;
  model.critic_sums = model.actor.num_sums;
  model.width_sums = model.critic_sums + model.critic.num_sums;
  for (float*& sums : model.sums) sums = arena.take(all_sums(model));
  const size_t seen = larger_of(model.actor.layers[0].in_columns, model.critic.layers[0].in_columns),
               hidden = larger_of(model.actor.hidden_columns, model.critic.hidden_columns),
               widest = larger_of(model.actor.widest_hidden, model.critic.widest_hidden),
               choices = model.actor.last().outputs;
  for (int i = 0; i < model.num_workers; i++) {
    auto& scratch = model.scratch[i];
    scratch.network = {arena.take(tile * seen), arena.take(tile * hidden), arena.take(tile * widest),
                       arena.take(tile * widest)};
    scratch.loss = {arena.take(tile * choices), arena.take(tile * choices), arena.take((size_t)tile * model.num_heads),
                    arena.take(tile), arena.take(tile), arena.take(tile)};
  }
}

// Rows of the tile, padded with zeros to what the products take; returns their number.
template <class RowAt>
static int gather(const Layer& first, int samples, RowAt row_at, float* x) {
  const int rows = rounded_up(samples, row_block);
  for (int s = 0; s < samples; s++) {
    memcpy(x + s * first.in_columns, row_at(s), first.inputs * sizeof(float));
    for (int c = first.inputs; c < first.in_columns; c++) x[s * first.in_columns + c] = 0.0f;
  }
  memset(x + samples * first.in_columns, 0, (size_t)(rows - samples) * first.in_columns * sizeof(float));
  return rows;
}

template <class Activation>
static void forward_tile(const ForwardCall& call, int64_t number) {
  Model& model = *call.model;
  const Network& network = call.critic ? model.critic : model.actor;
  const auto& scratch = model.scratch[ww_this_thread.worker];
  const int64_t first = number * tile;
  const int samples = call.count - first < tile ? (int)(call.count - first) : tile;
  const int inputs = network.layers[0].inputs, outputs = network.last().outputs;
  const float* x = call.observations + first * inputs;
  if (samples < tile || network.layers[0].in_columns != inputs) {
    gather(network.layers[0], samples, [=](int s) { return x + s * inputs; }, scratch.network.observations);
    x = scratch.network.observations;
  }
  float* y = scratch.loss.logits;
  forward<Activation>(network, rounded_up(samples, row_block), x, scratch.network.hidden, y);
  float* out = call.outputs + first * outputs;
  for (int s = 0; s < samples; s++)
    for (int o = 0; o < outputs; o++) out[s * outputs + o] = y[o * tile + s];
}

template <class Activation>
static bool gradient_of_tile(const GradientCall& call, const int64_t* index, int samples, float* sums,
                             double* diagnostics) {
  const Model& model = *call.model;
  const auto& scratch = model.scratch[ww_this_thread.worker];
  const auto row_at = [&](const Network& network) {
    return [&call, &network, index](int s) { return call.rows.observations + index[s] * network.layers[0].inputs; };
  };
  int rows = gather(model.actor.layers[0], samples, row_at(model.actor), scratch.network.observations);
  forward<Activation>(model.actor, rows, scratch.network.observations, scratch.network.hidden, scratch.loss.logits);
  if (model.is_box)
    box_loss(call.rows, index, samples, Widths{model.actor.last().outputs, call.log_std}, call.loss, call.common,
             scratch.loss, diagnostics, sums + model.width_sums);
  else if (!actor_loss(call.rows, index, samples, model.head_sizes, model.num_heads, call.loss, call.common, scratch.loss,
                       diagnostics))
    return false;
  backward<Activation>(model.actor, samples, rows, scratch.loss.gradients, scratch.network, sums);

  if (model.critic.layers[0].in_columns != model.actor.layers[0].in_columns)
    rows = gather(model.critic.layers[0], samples, row_at(model.critic), scratch.network.observations);
  forward<Activation>(model.critic, rows, scratch.network.observations, scratch.network.hidden, scratch.loss.logits);
  critic_loss(call.rows, index, samples, call.loss, call.common, scratch.loss.logits, scratch.loss.gradients,
              diagnostics);
  backward<Activation>(model.critic, samples, rows, scratch.loss.gradients, scratch.network, sums + model.critic_sums);
  return true;
}

template <class Activation>
static void gradient_of_chunk(GradientCall& call, unsigned chunk) {
  Model& model = *call.model;
  const int64_t count = call.rows.count, tiles = tiles_of(count), chunks = chunks_of(count);
  float* sums = model.sums[chunk];
  double* diagnostics = model.diagnostics[chunk];
  memset(sums, 0, all_sums(model) * sizeof(float));
  memset(diagnostics, 0, sizeof model.diagnostics[chunk]);
  for (int64_t t = tiles * chunk / chunks; t < tiles * (chunk + 1) / chunks; t++) {
    const int64_t first = t * tile;
    const int samples = count - first < tile ? (int)(count - first) : tile;
    if (!gradient_of_tile<Activation>(call, call.rows.index + first, samples, sums, diagnostics)) {
      __atomic_store_n(&call.bad_action, 1, __ATOMIC_RELAXED);
      return;
    }
  }
}

static void run_forward(const ww_launch* launch, unsigned first, unsigned end) {
  const ForwardCall& call = *(const ForwardCall*)launch->args[0];
  for (unsigned i = first; i < end; i++) call.model->relu ? forward_tile<Relu>(call, i) : forward_tile<Tanh>(call, i);
}

static void run_gradient(const ww_launch* launch, unsigned first, unsigned end) {
  GradientCall& call = *(GradientCall*)launch->args[0];
  for (unsigned i = first; i < end; i++)
    call.model->relu ? gradient_of_chunk<Relu>(call, i) : gradient_of_chunk<Tanh>(call, i);
}

}  // namespace fused

#pragma GCC visibility push(default)
extern "C" {

extern const ww_kernel ww_kernel_forward = {WW_ABI, "forward", fused::run_forward};
extern const ww_kernel ww_kernel_gradient = {WW_ABI, "gradient", fused::run_gradient};

// A model of widths inputs, hidden..., outputs; without heads its actions lie in a Box. Null if there is no memory for it;
// `fused_free` takes it back.
fused::Model* fused_make(const int* actor, int num_actor_layers, const int* critic, int num_critic_layers, int relu,
                         const int* head_sizes, int num_heads, int num_workers) {
  using namespace fused;
  Model* model = (Model*)calloc(1, sizeof(Model));
  if (!model) return nullptr;
  model->relu = relu;
  model->num_heads = num_heads;
  model->is_box = num_heads == 0;
  model->num_workers = num_workers;
  Arena counted{nullptr, 0};
  lay_out(*model, actor, num_actor_layers, critic, num_critic_layers, counted);
  void* block = nullptr;
  if (posix_memalign(&block, 64, counted.used) != 0) {
    free(model);
    return nullptr;
  }
  memset(block, 0, counted.used);
  Arena arena{(char*)block, 0};
  lay_out(*model, actor, num_actor_layers, critic, num_critic_layers, arena);
  memcpy((int*)model->head_sizes, head_sizes, num_heads * sizeof(int));
  return model;
}

void fused_free(fused::Model* model) {
  free(model->actor.layers[0].rows);  // the block begins with it
  free(model);
}

// Before the tiles of a forward; returns their number.
int fused_begin_forward(fused::ForwardCall* call) {
  pack(call->critic ? call->model->critic : call->model->actor, call->parameters);
  return fused::tiles_of(call->count);
}

// Before the chunks of a gradient; returns their number.
int fused_begin_gradient(fused::GradientCall* call) {
  pack(call->model->actor, call->actor);
  pack(call->model->critic, call->critic);
  call->common = fused::common_of(call->rows, call->loss);
  call->bad_action = 0;
  return fused::chunks_of(call->rows.count);
}

// After the chunks: adds them up in order, and writes the gradient to torch's memory.
void fused_end_gradient(fused::GradientCall* call) {
  using namespace fused;
  Model& model = *call->model;
  const int chunks = chunks_of(call->rows.count);
  const size_t size = all_sums(model);
  for (int chunk = 1; chunk < chunks; chunk++)
    for (size_t i = 0; i < size; i += lanes)
      store(model.sums[0] + i, load(model.sums[0] + i) + load(model.sums[chunk] + i));
  for (int d = 0; d < num_diagnostics; d++) {
    double total = 0;
    for (int chunk = 0; chunk < chunks; chunk++) total += model.diagnostics[chunk][d];
    call->diagnostics[d] = total / call->rows.count;
  }
  write_gradients(model.actor, model.sums[0], call->actor);
  write_gradients(model.critic, model.sums[0] + model.critic_sums, call->critic);
  if (model.is_box)
    memcpy(call->log_std_gradient, model.sums[0] + model.width_sums, model.actor.last().outputs * sizeof(float));
}
}
#pragma GCC visibility pop
