"""Base of what kernels find out about plans once, when a world is declared: one plan an env, shared by its threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.environment import Array, Environment, Group, Kernel

THREADS = 64


class OfPlans(Environment):
    """Runs kernels over plans; no agent acts.

    Args:
        inputs: the arrays that the kernels read.
        params: for ``Params``.
    """

    kernels: ClassVar[tuple[str, ...]]  # in the order in which they run; all envs write into one array each

    def __init__(self, inputs: Mapping[str, np.ndarray], **params: Any) -> None:
        super().__init__(**params)
        self.inputs = dict(inputs)

    def groups(self) -> Sequence[Group]:
        """Group of one agent, which a world needs; the kernels have their own threads."""
        return [Group("surveyor", 1, observation=Box(0.0, 1.0, (1,)), action=Discrete(1))]

    def arrays(self) -> Sequence[Array]:
        """Arrays that the kernels read."""
        return [
            Array(name, str(values.dtype), values.shape, per="world", initial=values, read_only=True)
            for name, values in self.inputs.items()
        ]

    def phases(self) -> Sequence[Any]:
        """Every kernel, once a step."""
        return [Kernel(name, threads_per_env=(1, THREADS), own_env_only=False) for name in self.kernels]

    def resets(self) -> Sequence[Any]:
        """Phases of a reset: none."""
        return []


def run_once(survey: OfPlans, plans: int, result: str, device: str = "cpu") -> np.ndarray:
    """Run the kernels over all plans.

    Args:
        survey: what runs.
        plans: how many.
        result: the array that is wanted.
        device: of the world that runs them, as a World's.
    """
    from warpworld.world import World

    world = World(survey, num_envs=plans, device=device)
    world.reset()
    world.step()
    return world.data.numpy(result).copy()
