"""Lighting the walls of many plans at once: a world of its own, with one env for each plan, that takes one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.environment import Array, Environment, Group, Kernel
from warpworld.plans.constants import MAX_WALLS
from warpworld.plans.textures import PALETTE, linear_palette

THREADS = 64


class Bake(Environment):
    """Writes ``wall_texels``; nobody acts.

    Args:
        inputs: the arrays that ``bake.cu`` reads.
        num_texels: of all plans.
    """

    source = "bake.cu"
    compile_time = ("max_walls", "num_colours")

    @dataclass(frozen=True)
    class Params:
        """Parameters of the kernel."""

        max_walls: int = MAX_WALLS
        num_colours: int = len(PALETTE)

    def __init__(self, inputs: Mapping[str, np.ndarray], num_texels: int) -> None:
        super().__init__()
        self._inputs, self._num_texels = dict(inputs), num_texels

    def groups(self) -> Sequence[Group]:
        """One agent, which a world needs; the kernel has its own threads."""
        return [Group("lamp", 1, observation=Box(0.0, 1.0, (1,)), action=Discrete(1))]

    def arrays(self) -> Sequence[Array]:
        """What the kernel reads, and the texels."""
        read = [
            Array(name, str(values.dtype), values.shape, per="world", initial=values, read_only=True)
            for name, values in self._inputs.items()
        ]
        return [*read, Array("wall_texels", "uint32", (self._num_texels,), per="world", initial=0)]

    def phases(self) -> Sequence[Any]:
        """The one kernel; all envs write into one array."""
        return [Kernel("bake", threads_per_env=THREADS, own_env_only=False)]

    def resets(self) -> Sequence[Any]:
        """Nothing."""
        return []


def lit_texels(arrays: Mapping[str, np.ndarray], pattern: np.ndarray, device: str) -> np.ndarray:
    """Light the walls of packed plans.

    Args:
        arrays: ``plan_walls``, ``plan_first_wall``, ``wall_first_texel``, ``plan_lights`` and ``plan_first_light``, as
            ``PlanSet`` describes them.
        pattern: (texels,) float32, linear brightness of each texel.
        device: as a World's.

    Returns:
        (texels,) uint32, linear RGB.
    """
    from warpworld.world import World

    inputs = {**arrays, "wall_pattern": pattern, "palette": linear_palette()}
    world = World(Bake(inputs, len(pattern)), num_envs=len(arrays["plan_first_wall"]) - 1, device=device)
    world.reset()
    world.step()
    return world.data.numpy("wall_texels").copy()
