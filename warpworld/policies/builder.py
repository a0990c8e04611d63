"""From a model's settings and a group's spaces to a policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import torch

from warpworld.environment import Group
from warpworld.errors import ConfigError, DeclarationError, suggest
from warpworld.policies.mlp import ActorCritic
from warpworld.spaces import action_heads, observation_shapes

MODEL_TYPES = ("mlp",)


class ModelConfig(Protocol):
    """What ``build_policy`` reads of a policy's ``model`` section."""

    @property
    def type(self) -> str:
        """Kind of network."""

    @property
    def hidden_sizes(self) -> Sequence[int]:
        """Width of each hidden layer."""

    @property
    def activation(self) -> str:
        """Between the layers."""


def build_policy(model: ModelConfig, group: Group, generator: torch.Generator) -> ActorCritic:
    """Build the policy that a group's spaces call for, on the CPU.

    Args:
        model: the policy's ``model`` settings: type, hidden_sizes, activation.
        group: the agents that it is to play.
        generator: CPU generator that the weights are drawn from; the same state gives the same weights.

    Raises:
        ConfigError: unknown model type or activation, or an impossible layer width.
        DeclarationError: a space that no policy can serve.
    """
    if model.type not in MODEL_TYPES:
        hint = suggest(str(model.type), MODEL_TYPES)
        raise ConfigError(f"model type {model.type!r}, expected one of {', '.join(MODEL_TYPES)}.{hint}")
    return ActorCritic(observation_size(group), head_sizes(group), model.hidden_sizes, model.activation, generator)


def observation_size(group: Group) -> int:
    """Number of features of one agent's observation, flattened.

    Raises:
        DeclarationError: the group's observation is not one Box of float32.
    """
    shapes = observation_shapes(group)
    if list(shapes) != [""]:
        raise DeclarationError(f"group '{group.name}': a policy reads one Box, not a Dict of {', '.join(shapes)}")
    return math.prod(shapes[""])


def head_sizes(group: Group) -> tuple[int, ...]:
    """Number of choices of each of the group's action heads.

    Raises:
        DeclarationError: the group's action is neither Discrete nor MultiDiscrete.
    """
    heads = action_heads(group.action)
    if not heads:
        raise DeclarationError(
            f"group '{group.name}': a policy acts in Discrete and MultiDiscrete spaces, not in {group.action}"
        )
    return heads
