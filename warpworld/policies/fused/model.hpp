// Actor and critic, with all the memory that they need: two trunks with a head each, or one trunk that both heads read.
// A network of values has one trunk and an actor, whose outputs are the values of choices; if it is dueling, its critic is
// the state's value, and its actor the choices' advantages.
#pragma once

#include <stdlib.h>
#include <sys/mman.h>

#include "cpu/abi.hpp"
#include "gathering.hpp"
#include "gaussian.hpp"
#include "head.hpp"

namespace fused {

constexpr int max_chunks = 16, even_chunks = 12;  // the last ones are smaller, so that workers end together
constexpr size_t few_sums = 1 << 14;  // that the cache holds for all chunks
constexpr int agents_per_product = 2 * row_block;  // of a strip whose cells multiply each step's rows

// fused/calls.py mirrors it.
struct ModelShape {
  int num_trunks, num_heads;
  int num_workers, num_learners;  // the first ones take several steps at once, the others one as they act
  int has_critic, is_dueling;
  const TrunkShape* trunks;
  const HeadShape* heads;  // the actor's and, if there is one, the critic's
  const int* head_sizes;   // choices of each categorical head; none where actions lie in a Box
};

struct Model {
  Trunk trunks[2];
  Head actor, critic;
  int num_trunks, num_heads;
  int has_critic, is_dueling;
  int steps_multiply;       // a cell of a trunk's multiplies each step's rows
  const int* head_sizes;
  int is_box;               // actions lie in a Box, of as many dimensions as the actor has outputs
  float* sums[max_chunks];  // all weights', then those of the widths
  double diagnostics[max_chunks][num_diagnostics];
  LossScratch loss[WW_MAX_WORKERS];
  Scratch scratch[WW_MAX_WORKERS];
  void *block, *scratch_block;
  int scratch_rows;  // of a strip that there is room for
  int num_workers, num_learners;
  size_t width_sums, all_sums;    // where those begin, and how many floats one chunk's gradients are
  size_t products;                // multiplications of a row in layers of the trunks, forward

  int state_size() const { return trunks[0].state_size() + (num_trunks > 1 ? trunks[1].state_size() : 0); }
};

static void lay_out(Model& model, const ModelShape& shape, Arena& arena) {
  size_t num_sums = 0;
  model.products = 0;
  model.steps_multiply = 0;
  for (int i = 0; i < shape.num_trunks; i++) {
    lay_out(model.trunks[i], shape.trunks[i], num_sums, arena);
    model.steps_multiply |= shape.trunks[i].steps_multiply;
    for (int j = 0; j < shape.trunks[i].num_layers; j++) model.products += products_of(shape.trunks[i].layers[j]);
  }
  lay_out(model.actor, shape.heads[0], num_sums, arena);
  if (model.has_critic) lay_out(model.critic, shape.heads[1], num_sums, arena);
  int* head_sizes = (int*)arena.take(shape.num_heads);
  model.head_sizes = head_sizes;
  if (arena.block) memcpy(head_sizes, shape.head_sizes, shape.num_heads * sizeof(int));
  model.width_sums = num_sums;
  model.all_sums = num_sums + (model.is_box ? rounded_up(model.actor.outputs, lanes) : 0);
  for (float*& sums : model.sums) sums = arena.take(model.all_sums);
  const size_t outputs = model.actor.outputs > 1 ? model.actor.outputs : 1;
  for (int i = 0; i < shape.num_workers; i++) {
    LossScratch& loss = model.loss[i];
    const size_t of_heads = (size_t)tile * model.num_heads;
    loss = {arena.take(tile * outputs), arena.take(tile * outputs), arena.take(of_heads),
            (int32_t*)arena.take(of_heads)};
    float** const of_samples[] = {&loss.log_ratio, &loss.pull,    &loss.weights, &loss.log_probs,
                                  &loss.advantages, &loss.returns, &loss.values};
    for (float** array : of_samples) *array = arena.take(tile);
  }
}

// A strip has at most `tile` agents, each with a state.
static void lay_out_scratch(Model& model, int rows, Arena& arena) {
  size_t row_floats = 0, gates = 0, cell = 0, state = 0, factors = 0, few = 0;
  for (int i = 0; i < model.num_trunks; i++) {
    const Trunk& trunk = model.trunks[i];
    if (trunk.row_floats > row_floats) row_floats = trunk.row_floats;
    if (trunk.factor_floats > factors) factors = trunk.factor_floats;
    if (trunk.few_ints > few) few = trunk.few_ints;
    if ((size_t)trunk.widest_gates > gates) gates = trunk.widest_gates;
    if ((size_t)trunk.widest_cell > cell) cell = trunk.widest_cell;
    if ((size_t)trunk.state_columns() > state) state = trunk.state_columns();
  }
  for (int i = 0; i < model.num_workers; i++) {
    Scratch& scratch = model.scratch[i];
    if (i == model.num_learners) rows = tile;  // rows of a strip of one step
    scratch.slabs = arena.take(row_floats * rows);
    scratch.layers = {arena.take(gates * tile), arena.take(2 * cell * tile), arena.take(factors), (int*)arena.take(few),
                      (Fetching*)arena.take(sizeof(Fetching) / sizeof(float))};
    scratch.state = arena.take(state * tile);
    scratch.after = arena.take(state * tile);
    scratch.begins = (uint8_t*)arena.take(rows / 4 + 1);
    scratch.counts = (uint8_t*)arena.take(rows / 4 + 1);
    scratch.rows = (int64_t*)arena.take(2 * (size_t)rows);
    scratch.places = (int64_t*)arena.take(2 * (size_t)rows);
  }
}

constexpr size_t large_block = 4 << 20;  // bytes from which pages may be large ones

// Zeroed memory for what `lay` takes from an arena; null if there is none. It is only taken from the machine where it is
// written to, since few chunks have a gradient in a small minibatch. `release` takes it back.
template <class Lay>
static char* allocated(Lay lay) {
  Arena counted{nullptr, 0};
  lay(counted);
  const size_t bytes = counted.used + 2 * 64;  // the first ones hold their number
  void* const block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return nullptr;
#ifdef MADV_HUGEPAGE
  if (bytes >= large_block) madvise(block, bytes, MADV_HUGEPAGE);
#endif
  memcpy(block, &bytes, sizeof bytes);
  Arena arena{(char*)block + 64, 0};
  lay(arena);
  return arena.block;
}

static void release(void* block) {
  if (!block) return;
  char* const first = (char*)block - 64;
  size_t bytes;
  memcpy(&bytes, first, sizeof bytes);
  munmap(first, bytes);
}

// Makes room for strips of so many rows; returns whether there is.
static bool make_room(Model& model, int rows) {
  if (rows <= model.scratch_rows) return true;
  release(model.scratch_block);
  model.scratch_block = allocated([&](Arena& arena) { lay_out_scratch(model, rows, arena); });
  model.scratch_rows = model.scratch_block ? rows : 0;
  return model.scratch_block;
}

// ---- strips ---------------------------------------------------------------------------------------------------------
// How many sequences of so many steps a strip takes.
static int agents_at_once(const Model& model, int64_t steps) {
  if (model.steps_multiply) return agents_per_product;
  if (steps == 1) return tile;
  return steps < tile ? (int)(tile / steps) : 1;
}

static int64_t strips_of(const Model& model, const Places& places) {
  const int agents = agents_at_once(model, places.steps);
  return (places.count + agents - 1) / agents;
}

// Rows of the largest strip.
static int strip_rows(const Model& model, const Places& places) {
  return (int)places.steps * rounded_up(agents_at_once(model, places.steps), row_block);
}

static int chunks_of(const Model& model, const Places& places) {
  const int64_t strips = strips_of(model, places), rows = places.steps * agents_at_once(model, places.steps);
  const bool are_sums_cheap = model.all_sums <= few_sums || model.products >= 2 * model.all_sums;
  const int64_t least = are_sums_cheap ? tile : 2 * tile;  // a chunk's gradient is cleared and added up
  const int64_t chunks = rows >= least ? strips : strips * rows / least;
  return chunks < 1 ? 1 : chunks > max_chunks ? max_chunks : (int)chunks;
}

// The first strip of a chunk. Where each may have several, the last ones have 5, 4, 3 and 2 for 6 of one before them.
static int64_t first_strip(int64_t strips, int64_t chunks, int64_t chunk) {
  if (strips < 2 * max_chunks) return strips * chunk / chunks;
  constexpr int shares[] = {6 * even_chunks, 6 * even_chunks + 5, 6 * even_chunks + 9, 6 * even_chunks + 12,
                            6 * even_chunks + 14};
  static_assert(max_chunks == even_chunks + 4, "each of the last ones has a share");
  const int64_t share = chunk < even_chunks ? 6 * chunk : shares[chunk - even_chunks];
  return strips * share / shares[4];
}

// The strip of that number: finds its rows.
static Strip strip_of(const Model& model, const Places& places, int64_t number, const uint8_t* starts,
                      const Scratch& scratch) {
  const int at_once = agents_at_once(model, places.steps);
  const int64_t first = number * at_once, left = places.count - first;
  Strip strip{};
  strip.steps = (int)places.steps;
  strip.agents = left < at_once ? (int)left : at_once;
  strip.spread = model.steps_multiply ? rounded_up(strip.agents, row_block) : strip.agents;
  strip.rows = rounded_up(strip.live_rows(), row_block);
  if (starts) strip.begins = scratch.begins;
  const int64_t stride = places.step_stride;
  for (int a = 0; a < strip.agents; a++) {
    const int64_t row = places.row(places.sequence(first + a), 0);
    for (int t = 0; t < strip.steps; t++) scratch.rows[t * strip.spread + a] = row + t * stride;
  }
  for (int t = 0; t < strip.steps; t++)
    for (int a = strip.agents; a < strip.spread; a++) scratch.rows[t * strip.spread + a] = -1;
  for (int r = strip.live_rows(); r < strip.rows; r++) scratch.rows[r] = -1;
  for (int r = 0; starts && r < strip.rows; r++) scratch.begins[r] = scratch.rows[r] < 0 || starts[scratch.rows[r]];
  return strip;
}

// Copies the states that a trunk begins a strip with: `states` are those of all sequences, `stride` numbers from one to
// the next; null without a memory.
static void begin_with(const Model& model, const Trunk& trunk, const Places& places, int64_t number, const float* states,
                       int stride, const Scratch& scratch, Strip& strip) {
  const int size = trunk.shape.part_size, columns = rounded_up(size, lanes);
  const int64_t first = number * agents_at_once(model, places.steps);
  strip.state = scratch.state;
  strip.state_stride = trunk.state_columns();
  for (int a = 0; states && a < strip.agents; a++) {
    const float* state = states + places.sequence(first + a) * stride;
    for (int part = 0; part < trunk.shape.state_parts; part++)
      memcpy(scratch.state + a * strip.state_stride + part * columns, state + part * size, size * sizeof(float));
  }
}

}  // namespace fused
