"""Action distributions: what the outputs of a policy mean, and the density of actions."""

from warpworld.policies.distributions.deterministic import Deterministic
from warpworld.policies.distributions.distribution import FORBIDDEN, Categorical, Gaussian
from warpworld.policies.distributions.hybrid import Hybrid
from warpworld.policies.distributions.squashed_gaussian import SquashedGaussian

ActionDistribution = Categorical | Gaussian | Hybrid | SquashedGaussian | Deterministic

__all__ = [
    "FORBIDDEN",
    "ActionDistribution",
    "Categorical",
    "Deterministic",
    "Gaussian",
    "Hybrid",
    "SquashedGaussian",
]
