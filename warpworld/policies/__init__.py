"""Policies: torch modules from observations to action distributions and values."""

from warpworld.policies.builder import action_distribution, build_policy, get_model, observation_size
from warpworld.policies.distributions import ActionDistribution, Categorical, Gaussian
from warpworld.policies.mlp import MLP
from warpworld.policies.multi_input import MultiInput
from warpworld.policies.normaliser import ObservationNormaliser
from warpworld.policies.observation_rows import ObservationRows
from warpworld.policies.policy import Model, Policy
from warpworld.policies.recurrent import Recurrent, RecurrentPolicy
from warpworld.policies.remembering import RememberingPolicy

__all__ = [
    "MLP",
    "ActionDistribution",
    "Categorical",
    "Gaussian",
    "Model",
    "MultiInput",
    "ObservationNormaliser",
    "ObservationRows",
    "Policy",
    "Recurrent",
    "RecurrentPolicy",
    "RememberingPolicy",
    "action_distribution",
    "build_policy",
    "get_model",
    "observation_size",
]
