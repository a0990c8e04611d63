"""Random numbers of an update: normal ones, for what an algorithm draws while it learns."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from warpworld.environment import Array, Kernel
from warpworld.trainers.replay.priorities import KERNELS, Priorities, add_arrays, lanes_for
from warpworld.world import World


class Normals:
    """Standard normal numbers that are a function of a replay's key and of the number of its draw.

    Args:
        world: an unsealed world.
        name: keeps the array apart from others.
        priorities: of the replay.
        shape: of the numbers.
    """

    def __init__(self, world: World, name: str, priorities: Priorities, shape: Sequence[int]) -> None:
        self._world = world
        own = add_arrays(world, name, [(Array("normals", "float32", tuple(shape), "world", initial=0.0), "derived")])
        self._array, count = own["normals"], math.prod(shape)
        constants = {"NUM_AGENTS": 1, "COUNT": count}
        self._kernels = world.kernels(KERNELS / "normals.cu", constants, aliases={**priorities.aliases, **own})
        self._kernels.build([Kernel("draw_normals", lanes_for(count // 4, world.num_envs), own_env_only=False)])
        world.when_sealed(self._bind)

    def _bind(self) -> None:
        self._draw = self._world.program([self._kernels.step("draw_normals", index=0, own_env_only=False)])
        self._normals = self._world[self._array]

    def draw(self) -> Tensor:
        """The numbers that belong to the replay's latest draw; they stay as they are until the next call."""
        self._draw()
        return self._normals
