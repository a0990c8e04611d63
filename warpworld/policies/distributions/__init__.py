"""Action distributions: what the outputs of a policy mean, and the density of actions."""

from warpworld.policies.distributions.deterministic import Deterministic
from warpworld.policies.distributions.distribution import FORBIDDEN, ActionDistribution, Categorical, Gaussian
from warpworld.policies.distributions.squashed_gaussian import SquashedGaussian

__all__ = [
    "FORBIDDEN",
    "ActionDistribution",
    "Categorical",
    "Deterministic",
    "Gaussian",
    "SquashedGaussian",
]
