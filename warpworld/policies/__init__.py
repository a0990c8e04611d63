"""Policies: torch modules from observations to action logits and values."""

from warpworld.policies.builder import ModelConfig, build_policy, head_sizes, observation_size
from warpworld.policies.mlp import ActorCritic

__all__ = ["ActorCritic", "ModelConfig", "build_policy", "head_sizes", "observation_size"]
