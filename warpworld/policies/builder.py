"""From a model's settings and a group's spaces to a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from warpworld.errors import ConfigError, DeclarationError, suggest
from warpworld.policies.mlp import ActorCritic

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


def build_policy(model: ModelConfig, observation: Any, action: Any, generator: torch.Generator) -> ActorCritic:
    """Build the policy that a group's spaces call for, on the CPU.

    Args:
        model: the policy's ``model`` settings: type, hidden_sizes, activation.
        observation: space of one agent's observation: a Box, read flattened.
        action: space of one agent's action: Discrete, or MultiDiscrete with one head per entry.
        generator: CPU generator that the weights are drawn from; the same state gives the same weights.

    Raises:
        ConfigError: unknown model type or activation, or an impossible layer width.
        DeclarationError: a space that no policy can serve.
    """
    if model.type not in MODEL_TYPES:
        hint = suggest(str(model.type), MODEL_TYPES)
        raise ConfigError(f"model type {model.type!r}, expected one of {', '.join(MODEL_TYPES)}.{hint}")
    return ActorCritic(
        observation_size(observation), head_sizes(action), model.hidden_sizes, model.activation, generator
    )


def observation_size(space: Any) -> int:
    """Number of features of one flattened observation.

    Raises:
        DeclarationError: not a Box with at least one number in it.
    """
    if not _is_kind(space, "Box"):
        raise DeclarationError(f"observation space {space}: a policy reads Box spaces only; declare a Box")
    size = 1
    for length in space.shape:
        size *= int(length)
    if size < 1:
        raise DeclarationError(
            f"observation space {space} holds no number; give its Box a shape of at least one feature"
        )
    return size


def head_sizes(space: Any) -> tuple[int, ...]:
    """Number of choices of each action head; actions are counted from 0.

    Raises:
        DeclarationError: neither Discrete nor a one-dimensional MultiDiscrete, or actions that do not start at 0.
    """
    if _is_kind(space, "MultiDiscrete"):
        sizes, starts = space.nvec, getattr(space, "start", 0)
        if sizes.ndim != 1 or len(sizes) == 0:
            raise DeclarationError(f"action space {space}: expected MultiDiscrete with a flat, non-empty list of sizes")
        shifted = bool((sizes * 0 + starts).any())
    elif _is_kind(space, "Discrete"):
        sizes, shifted = [space.n], bool(getattr(space, "start", 0))
    else:
        raise DeclarationError(
            f"action space {space}: a policy acts in Discrete and MultiDiscrete spaces only; declare one of these"
        )
    if shifted:
        raise DeclarationError(f"action space {space} does not start at 0; leave out `start` and shift in the kernel")
    return tuple(int(size) for size in sizes)


def _is_kind(space: Any, name: str) -> bool:
    """Whether ``space`` is Gymnasium's space of that name, or the one of the older gym, which has its own classes."""
    return any(
        base.__name__ == name and base.__module__.partition(".")[0] in ("gymnasium", "gym")
        for base in type(space).__mro__
    )
