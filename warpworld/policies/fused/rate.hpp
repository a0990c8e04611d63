// A learning rate that follows how far steps move the policy: trainers/algorithms/parameters/kl_rate.py has the rule, and its
// source.
#pragma once

namespace fused {

constexpr double rate_factor = 1.5, kl_factor = 2.0;

// fused/calls.py mirrors it.
struct RateRule {
  double desired_kl;  // 0 leaves the rate as it is
  double lowest, highest;
};

// The rate of the next step, `kl` being that of its minibatch to the policy that acted. NaN leaves it.
static double adapted_rate(const RateRule& rule, double rate, float kl) {
  if (kl > kl_factor * rule.desired_kl) {
    const double less = rate / rate_factor;
    return less < rule.lowest ? rule.lowest : less;
  }
  if (kl < rule.desired_kl / kl_factor && kl != 0.0f) {
    const double more = rate * rate_factor;
    return more > rule.highest ? rule.highest : more;
  }
  return rate;
}

}  // namespace fused
