"""Policies: torch modules from observations to action distributions and values."""

from warpworld.policies.builder import HeadsMaker, action_distribution, build_policy, get_model, observation_size
from warpworld.policies.distributions import FORBIDDEN, ActionDistribution, Categorical, Gaussian
from warpworld.policies.mlp import MLP
from warpworld.policies.multi_input import MultiInput
from warpworld.policies.normaliser import ObservationNormaliser
from warpworld.policies.observation_rows import ObservationRows
from warpworld.policies.policy import Model, Policy
from warpworld.policies.precision import backward
from warpworld.policies.q_network import DuelingHeads, QNetwork, RecurrentQNetwork, of_choices
from warpworld.policies.recurrent import Recurrent, RecurrentPolicy
from warpworld.policies.remembering import RememberingPolicy
from warpworld.policies.stacking import is_picture, no_picture, of_stacks

__all__ = [
    "FORBIDDEN",
    "MLP",
    "ActionDistribution",
    "Categorical",
    "DuelingHeads",
    "Gaussian",
    "HeadsMaker",
    "Model",
    "MultiInput",
    "ObservationNormaliser",
    "ObservationRows",
    "Policy",
    "QNetwork",
    "Recurrent",
    "RecurrentPolicy",
    "RecurrentQNetwork",
    "RememberingPolicy",
    "action_distribution",
    "backward",
    "build_policy",
    "get_model",
    "is_picture",
    "no_picture",
    "observation_size",
    "of_choices",
    "of_stacks",
]
