"""Policies: torch modules from observations to action distributions and values."""

from warpworld.policies.actor_critics import ActorCritics, Critics, SquashedHead, TanhHead
from warpworld.policies.builder import HeadsMaker, action_distribution, build_policy, get_model, observation_size
from warpworld.policies.distributions import FORBIDDEN, ActionDistribution, Categorical, Gaussian
from warpworld.policies.mlp import MLP
from warpworld.policies.multi_input import MultiInput
from warpworld.policies.normaliser import ObservationNormaliser
from warpworld.policies.observation_rows import ObservationRows
from warpworld.policies.policy import Model, Policy
from warpworld.policies.precision import FLOAT32, backward, is_reduced, products
from warpworld.policies.q_network import DuelingHeads, QNetwork, RecurrentQNetwork, of_choices
from warpworld.policies.recurrent import Recurrent, RecurrentPolicy
from warpworld.policies.remembering import RememberingPolicy
from warpworld.policies.samplers import (
    BoxSampler,
    ChoiceSampler,
    DeterministicSampler,
    Explorer,
    Noise,
    NoisySampler,
    Sampler,
    SamplerContext,
    SamplerMaker,
    SquashedSampler,
    scaling_to,
)
from warpworld.policies.stacking import StackingPolicy, is_picture, no_picture, of_stacks

__all__ = [
    "FLOAT32",
    "FORBIDDEN",
    "MLP",
    "ActionDistribution",
    "ActorCritics",
    "BoxSampler",
    "Categorical",
    "ChoiceSampler",
    "Critics",
    "DeterministicSampler",
    "DuelingHeads",
    "Explorer",
    "Gaussian",
    "HeadsMaker",
    "Model",
    "MultiInput",
    "Noise",
    "NoisySampler",
    "ObservationNormaliser",
    "ObservationRows",
    "Policy",
    "QNetwork",
    "Recurrent",
    "RecurrentPolicy",
    "RecurrentQNetwork",
    "RememberingPolicy",
    "Sampler",
    "SamplerContext",
    "SamplerMaker",
    "SquashedHead",
    "SquashedSampler",
    "StackingPolicy",
    "TanhHead",
    "action_distribution",
    "backward",
    "build_policy",
    "get_model",
    "is_picture",
    "is_reduced",
    "no_picture",
    "observation_size",
    "of_choices",
    "of_stacks",
    "products",
    "scaling_to",
]
