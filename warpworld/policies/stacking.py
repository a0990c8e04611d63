"""Policies that read several observations at once: the present one, and the last few before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import torch
from gymnasium.spaces import Box, Space
from torch import Tensor

from warpworld.environment import Group
from warpworld.errors import ConfigError
from warpworld.policies.inputs import CallersSpaces, ObservationRows, Preprocessing
from warpworld.policies.policy import Policy
from warpworld.policies.remembering import RememberingPolicy


def is_picture(space: Space) -> bool:
    """Whether a space has channels, that several observations can be put behind each other in."""
    return isinstance(space, Box) and len(space.shape) in (2, 3)


def no_picture(group: Group) -> str:
    """Message for a group that sees none."""
    return (
        f"group '{group.name}' observes {group.observation}, expected a Box of shape (channels, pixels) or "
        "(channels, height, width); set it to 1"
    )


def stacked(group: Group, frames: int) -> Group:
    """The group as it were if its agents saw several pictures at once: their channels behind each other, oldest first.

    Args:
        group: whose observation is a Box of shape (channels, pixels) or (channels, height, width).
        frames: how many.

    Raises:
        ConfigError: the observation is no picture.
    """
    space = group.observation
    if not is_picture(space):
        raise ConfigError(f"frame_stack is {frames}, but {no_picture(group)}")
    assert isinstance(space, Box)
    low, high = (np.concatenate([bound] * frames) for bound in (space.low, space.high))
    return dataclasses.replace(group, observation=Box(low, high, dtype=low.dtype.type))


def of_stacks(build: Callable[[Group], Policy], group: Group, frames: int) -> Policy:
    """Build a group's policy; with more than one frame, one that remembers its latest observations.

    Raises:
        ConfigError: as ``stacked``.
    """
    if frames == 1:
        return build(group)
    return StackingPolicy(build(stacked(group, frames)), group.observation, frames).eval()


class StackingPolicy(RememberingPolicy):
    """Remembers the features of the last observations, and gives its model all of them, the oldest first.

    Before an episode's beginning there are zeros. ``outputs`` reads rows of whole stacks.

    Args:
        policy: for stacks, see ``stacked``; it has no normaliser.
        observation: of one agent, a single one.
        frames: observations of a stack.
    """

    def __init__(self, policy: Policy, observation: Space, frames: int) -> None:
        rows = ObservationRows(observation)
        of_one = None if rows.is_plain else Preprocessing(rows)
        super().__init__(policy.model, policy.distribution, preprocessing=of_one)
        assert policy.spaces is not None
        self.spaces = CallersSpaces(observation, policy.spaces.action)
        self._frames = frames
        self.state_size = (frames - 1) * sum(part.numbers for part in rows.parts)

    def step(self, observations: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Implement ``RememberingPolicy``."""
        stack = self.stack(observations, state)
        outputs = self.model.actor(stack)  # type: ignore[operator]
        return outputs, outputs.new_zeros(outputs.shape[:-1]), stack[..., stack.shape[-1] // self._frames :]

    def stack(self, observations: Tensor, state: Tensor) -> Tensor:
        """Input of the model for ``observations``: (..., features) float32; arguments as ``step``'s."""
        return torch.cat((state, super().features(observations)), -1)

    def features(self, observations: Tensor) -> Tensor:
        """Features of rows of whole stacks: (..., features) float32."""
        return super().features(observations.unflatten(-1, (self._frames, -1))).flatten(-2)
