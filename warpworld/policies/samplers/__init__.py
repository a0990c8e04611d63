"""Samplers: kernels that turn a policy's outputs into actions in the store, one file for each kind of distribution."""

from warpworld.policies.samplers.box import BoxSampler, scaling_to
from warpworld.policies.samplers.choices import ChoiceSampler
from warpworld.policies.samplers.deterministic import DeterministicSampler, Noise, NoisySampler
from warpworld.policies.samplers.epsilon_greedy import Explorer
from warpworld.policies.samplers.sampler import Sampler, SamplerContext, SamplerMaker
from warpworld.policies.samplers.squashed import SquashedSampler

__all__ = [
    "BoxSampler",
    "ChoiceSampler",
    "DeterministicSampler",
    "Explorer",
    "Noise",
    "NoisySampler",
    "Sampler",
    "SamplerContext",
    "SamplerMaker",
    "SquashedSampler",
    "scaling_to",
]
