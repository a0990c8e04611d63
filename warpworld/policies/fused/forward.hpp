// Forward: what a policy's networks make of observations, strip by strip, and of those of some envs, as a policy acts.
#pragma once

#include "dueling.hpp"

namespace fused {

// fused/calls.py mirrors it.
struct ForwardCall {
  Model* model;
  const LayerParameters* parameters;  // of all layers, trunk by trunk, then of the actor and the critic
  Observed observations;  // what the trunks read whose outputs or values are wanted
  Runs runs;              // of the observations
  Places places;
  const uint8_t* starts;  // where the state is 0 before the step; null where it is nowhere
  const float* states;    // (count, state size of that trunk), before the first step; null without a memory
  float *outputs, *values, *after;  // (count * steps, outputs), (count * steps,), (count, state size); each may be null
};

// Policies act: a forward for some envs' agents, as a step of a world's program; fused/calls.py mirrors it.
struct ActingCall {
  ForwardCall forward;  // a step of all agents of envs first_env .. end_env - 1
  int64_t agents;       // of an env
  int64_t first_env, end_env, envs_per_block;
};

// What a head makes of a strip, at the places of its rows; `make(rows, x, y)` computes it for a tile.
template <class Make>
static void put_outputs(int outputs, const Strip& strip, const Slabs& slabs, const Trunk& trunk, const int64_t* places,
                        float* y, float* out, Make make) {
  const int columns = trunk.slabs[trunk.shape.top].columns;
  for_tiles(strip.rows, [&](int first, int rows) {
    make(rows, slabs.values[trunk.shape.top] + (size_t)first * columns, y);
    for (int s = 0; s < rows; s++)
      for (int o = 0; o < outputs && places[first + s] >= 0; o++)
        out[places[first + s] * outputs + o] = y[o * tile + s];
  });
}

static void put_state(const ForwardCall& call, const TrunkShape& shape, const Strip& strip, int64_t first) {
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
  Strip strip = strip_of(model, call.places, number, call.starts, scratch);
  if (call.after) strip.after = scratch.after;
  const int64_t* observed = places_of(call.runs, strip, scratch);
  scratch.layers.ahead->begin(nullptr, nullptr);
  for (int i = 0; i < model.num_trunks; i++) {
    const Trunk& trunk = model.trunks[i];
    const bool acts = call.outputs && model.actor.trunk == i, judges = call.values && model.critic.trunk == i;
    if (!acts && !judges) continue;
    const Slabs slabs = slabs_of(trunk, scratch, strip.rows);
    begin_with(model, trunk, call.places, number, call.states, trunk.state_size(), scratch, strip);
    gather(trunk, strip.rows, observed, call.observations, slabs.values[0]);
    forward(trunk, strip, slabs, scratch);
    const LossScratch& loss = model.loss[ww_this_thread.worker];
    if (acts)
      put_outputs(model.actor.outputs, strip, slabs, trunk, scratch.rows, loss.logits, call.outputs,
                  [&](int rows, const float* x, float* y) { forward_actor(model, rows, x, y, loss.values); });
    if (judges)
      put_outputs(1, strip, slabs, trunk, scratch.rows, loss.logits, call.values,
                  [&](int rows, const float* x, float* y) { forward(model.critic, rows, x, y); });
    if (call.after) put_state(call, trunk.shape, strip, number * agents_at_once(model, call.places.steps));
  }
}

// Runs the policy in those of the blocks' envs in which it acts.
static void act(const ActingCall& call, int64_t first_block, int64_t end_block) {
  const int64_t given = first_block * call.envs_per_block, first = given < call.first_env ? call.first_env : given,
                limit = end_block * call.envs_per_block, end = limit > call.end_env ? call.end_env : limit;
  if (first >= end) return;
  const int64_t row = (first - call.first_env) * call.agents;
  ForwardCall some = call.forward;
  some.places.count = (end - first) * call.agents;
  some.observations.first = some.observations.row(some.runs.place(row));
  some.outputs += row * some.model->actor.outputs;
  if (some.values) some.values += row;
  const int64_t state = row * some.model->trunks[0].state_size();
  if (some.states) some.states += state;
  if (some.after) some.after += state;
  for (int64_t i = 0; i < strips_of(*some.model, some.places); i++) {
    forward_strip(some, i);
    ww_make_progress();  // large networks take long, and are no endless loop
  }
}

}  // namespace fused
