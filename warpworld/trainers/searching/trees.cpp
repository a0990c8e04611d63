// Gumbel AlphaZero's trees, one for each env. The workers share the envs, and each walks down and up its trees alone, so
// that results are the same, bit for bit, on any number of them. trees.py says what is computed, and from which paper.

#include <math.h>
#include <stdint.h>

#include "cpu/abi.hpp"

namespace searching {

constexpr int64_t root = 0;
constexpr int32_t none = -1;
constexpr double tiny = 1e-8;

// trees.py mirrors it. E envs, N nodes of each, A choices; arrays of edges have an entry for each choice of a node.
struct Trees {
  int64_t nodes, choices, newest;  // newest: the node that is added
  double value_scale, maxvisit;
  // of nodes, (E, N)
  double *raw_values, *values;
  int32_t *visits, *parents, *moves;
  // of edges, (E, N, A)
  double *logits, *rewards, *discounts, *child_values;
  int32_t *child_visits, *children;
  uint8_t* legal;
  // of a call
  const double *gumbels, *new_logits;  // (E, A)
  const uint8_t* new_legal;            // (E, A)
  const double *new_values, *new_rewards, *new_discounts;  // (E,)
  const int32_t* wanted;               // (E,): visits of the root's actions that are looked at
  int64_t *from, *actions;             // (E,): the nodes that envs move from, and how
  double* scores;                      // (E, A): a place to compute in; the improved policy of the root at last
};

// A node of an env's tree, with its edges.
struct Node {
  const Trees& trees;
  int64_t at, edge;

  Node(const Trees& all, int64_t env, int64_t number)
      : trees(all), at(env * all.nodes + number), edge(at * all.choices) {}

  const uint8_t* legal() const { return trees.legal + edge; }
  const int32_t* child_visits() const { return trees.child_visits + edge; }
};

// Logits to probabilities, those of choices that are not legal to 0.
static void softmax(double* logits, const uint8_t* legal, int64_t choices) {
  double most = -INFINITY, sum = 0;
  for (int64_t a = 0; a < choices; a++) most = legal[a] && logits[a] > most ? logits[a] : most;
  for (int64_t a = 0; a < choices; a++) sum += logits[a] = legal[a] ? exp(logits[a] - most) : 0.0;
  for (int64_t a = 0; a < choices; a++) logits[a] /= sum;
}

// The value of actions that were not visited (equation 33): the network's, mixed with what was found. `prior` is written.
static double mixed_value(const Node& node, double* prior) {
  const Trees& trees = node.trees;
  const int32_t* visits = node.child_visits();
  for (int64_t a = 0; a < trees.choices; a++) prior[a] = trees.logits[node.edge + a];
  softmax(prior, node.legal(), trees.choices);
  double known = 0, found = 0;
  int64_t total = 0;
  for (int64_t a = 0; a < trees.choices; a++) {
    if (visits[a] == 0) continue;
    known += prior[a];
    found += prior[a] * trees.child_values[node.edge + a];
    total += visits[a];
  }
  const double mean = found / (known > 0 ? known : 1.0);
  return (trees.raw_values[node.at] + total * mean) / (1 + total);
}

// Logits with what was found of values (equation 11), of legal choices; values are rescaled to 0 .. 1 first.
static void improve(const Node& node, double* scores) {
  const Trees& trees = node.trees;
  const uint8_t* legal = node.legal();
  const int32_t* visits = node.child_visits();
  const double mixed = mixed_value(node, scores);
  double low = INFINITY, high = -INFINITY;
  int32_t most = 0;
  for (int64_t a = 0; a < trees.choices; a++) {
    if (!legal[a]) continue;
    scores[a] = visits[a] > 0 ? trees.child_values[node.edge + a] : mixed;
    low = scores[a] < low ? scores[a] : low;
    high = scores[a] > high ? scores[a] : high;
    most = visits[a] > most ? visits[a] : most;
  }
  const double range = high - low > tiny ? high - low : tiny, scale = (trees.maxvisit + most) * trees.value_scale;
  for (int64_t a = 0; a < trees.choices; a++) {
    if (legal[a]) scores[a] = trees.logits[node.edge + a] + scale * ((scores[a] - low) / range);
  }
}

// The best action of the root, noise included, among those that were visited as often as wanted.
static int64_t best_of_root(const Trees& trees, int64_t env, int32_t wanted) {
  const Node node(trees, env, root);
  double* scores = trees.scores + env * trees.choices;
  improve(node, scores);
  int64_t best = none;
  double most = 0;
  for (int64_t a = 0; a < trees.choices; a++) {
    const double score = scores[a] + trees.gumbels[env * trees.choices + a];
    if (!node.legal()[a] || node.child_visits()[a] != wanted || (best != none && !(score > most))) continue;
    best = a, most = score;
  }
  return best;
}

// The action that brings the shares of visits closest to the improved policy (equation 14).
static int64_t best_of_node(const Trees& trees, int64_t env, int64_t number) {
  const Node node(trees, env, number);
  double* policy = trees.scores + env * trees.choices;
  improve(node, policy);
  softmax(policy, node.legal(), trees.choices);
  int64_t total = 1, best = none;
  for (int64_t a = 0; a < trees.choices; a++) total += node.child_visits()[a];
  double most = 0;
  for (int64_t a = 0; a < trees.choices; a++) {
    const double lack = policy[a] - node.child_visits()[a] / (double)total;
    if (!node.legal()[a] || (best != none && !(lack > most))) continue;
    best = a, most = lack;
  }
  return best;
}

static void add_node(const Trees& trees, int64_t env) {
  const Node node(trees, env, trees.newest);
  for (int64_t a = 0; a < trees.choices; a++) {
    trees.logits[node.edge + a] = trees.new_logits[env * trees.choices + a];
    trees.legal[node.edge + a] = trees.new_legal[env * trees.choices + a];
    trees.child_visits[node.edge + a] = 0;
    trees.children[node.edge + a] = none;
  }
  trees.raw_values[node.at] = trees.values[node.at] = trees.new_values[env];
  trees.visits[node.at] = 1;
}

// From a node that was reached once more, up to the root: what was gained counts in each node's value.
static void back_up(const Trees& trees, int64_t env, int64_t number) {
  double gain = trees.values[env * trees.nodes + number];
  while (number != root) {
    const int64_t at = env * trees.nodes + number;
    const Node above(trees, env, trees.parents[at]);
    const int64_t edge = above.edge + trees.moves[at];
    trees.child_values[edge] = trees.rewards[edge] + trees.discounts[edge] * trees.values[at];
    trees.child_visits[edge]++;
    gain = trees.rewards[edge] + trees.discounts[edge] * gain;
    trees.values[above.at] += (gain - trees.values[above.at]) / ++trees.visits[above.at];
    number = trees.parents[at];
  }
}

// ---- for workers: blocks are envs -------------------------------------------------------------------------------------
static void run_plant(const ww_launch* launch, unsigned first, unsigned end) {
  const Trees& trees = *(const Trees*)launch->args[0];
  for (int64_t env = first; env < end; env++) add_node(trees, env);
}

// Down each tree to an edge that was not tried, or that ends the episode.
static void run_select(const ww_launch* launch, unsigned first, unsigned end) {
  const Trees& trees = *(const Trees*)launch->args[0];
  for (int64_t env = first; env < end; env++) {
    int64_t number = root, action = best_of_root(trees, env, trees.wanted[env]);
    for (;;) {
      const int64_t edge = Node(trees, env, number).edge + action;
      if (trees.children[edge] == none || trees.discounts[edge] == 0) break;
      number = trees.children[edge];
      action = best_of_node(trees, env, number);
    }
    trees.from[env] = number, trees.actions[env] = action;
  }
}

// A node more in each tree, or an end that is reached once more; then up to the root.
static void run_expand(const ww_launch* launch, unsigned first, unsigned end) {
  const Trees& trees = *(const Trees*)launch->args[0];
  for (int64_t env = first; env < end; env++) {
    const int64_t edge = Node(trees, env, trees.from[env]).edge + trees.actions[env];
    if (trees.children[edge] == none) {
      const int64_t at = env * trees.nodes + trees.newest;
      add_node(trees, env);
      trees.parents[at] = (int32_t)trees.from[env], trees.moves[at] = (int32_t)trees.actions[env];
      trees.children[edge] = (int32_t)trees.newest;
      trees.rewards[edge] = trees.new_rewards[env], trees.discounts[edge] = trees.new_discounts[env];
    }
    back_up(trees, env, trees.children[edge]);
  }
}

// The action to take, one of those visited most, and the root's improved policy.
static void run_conclude(const ww_launch* launch, unsigned first, unsigned end) {
  const Trees& trees = *(const Trees*)launch->args[0];
  for (int64_t env = first; env < end; env++) {
    const Node node(trees, env, root);
    int32_t most = 0;
    for (int64_t a = 0; a < trees.choices; a++) most = node.child_visits()[a] > most ? node.child_visits()[a] : most;
    trees.actions[env] = best_of_root(trees, env, most);
    softmax(trees.scores + env * trees.choices, node.legal(), trees.choices);
  }
}

}  // namespace searching

#pragma GCC visibility push(default)
extern "C" {
extern const ww_kernel ww_kernel_plant = {WW_ABI, "plant", searching::run_plant};
extern const ww_kernel ww_kernel_select = {WW_ABI, "select", searching::run_select};
extern const ww_kernel ww_kernel_expand = {WW_ABI, "expand", searching::run_expand};
extern const ww_kernel ww_kernel_conclude = {WW_ABI, "conclude", searching::run_conclude};
}
#pragma GCC visibility pop
