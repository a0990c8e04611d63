"""Samplers: kernels that turn a policy's outputs into actions in the store, one file for each kind of distribution."""

from warpworld.policies.samplers.box import BoxSampler, SquashedSampler, scaling_to
from warpworld.policies.samplers.choices import ChoiceSampler
from warpworld.policies.samplers.deterministic import DeterministicSampler, Noise, NoisySampler
from warpworld.policies.samplers.epsilon_greedy import Explorer
from warpworld.policies.samplers.hybrid import HybridSampler
from warpworld.policies.samplers.sampler import AT_RANDOM, Sampler, SamplerContext, SamplerMaker

__all__ = [
    "AT_RANDOM",
    "BoxSampler",
    "ChoiceSampler",
    "DeterministicSampler",
    "Explorer",
    "HybridSampler",
    "Noise",
    "NoisySampler",
    "Sampler",
    "SamplerContext",
    "SamplerMaker",
    "SquashedSampler",
    "scaling_to",
]
