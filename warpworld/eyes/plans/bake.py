"""Lighting the walls and floors of many plans at once: a world with one env for each plan, that takes one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.environment import Array, Environment, Group, Kernel
from warpworld.eyes.plans.constants import FLOOR_NODES, MAX_WALLS
from warpworld.eyes.plans.textures import PALETTE, linear_palette

THREADS = 64


class Bake(Environment):
    """Writes ``wall_texels`` and ``floor_light``; no agent acts.

    Args:
        inputs: the arrays that ``bake.cu`` reads.
    """

    source = "bake.cu"
    compile_time = ("max_walls", "num_colours")

    @dataclass(frozen=True)
    class Params:
        """Parameters of the kernels."""

        max_walls: int = MAX_WALLS
        num_colours: int = len(PALETTE)

    def __init__(self, inputs: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        self._inputs = dict(inputs)

    def groups(self) -> Sequence[Group]:
        """Group of one agent, which a world needs; the kernels have their own threads."""
        return [Group("lamp", 1, observation=Box(0.0, 1.0, (1,)), action=Discrete(1))]

    def arrays(self) -> Sequence[Array]:
        """Arrays that the kernels read, the texels, and the nodes of floors."""
        read = [
            Array(name, str(values.dtype), values.shape, per="world", initial=values, read_only=True)
            for name, values in self._inputs.items()
        ]
        return [
            *read,
            Array("wall_texels", "uint32", self._inputs["wall_pattern"].shape, per="world", initial=0),
            Array("floor_light", "uint8", (num_nodes(self._inputs["plan_floor"]),), per="world", initial=0),
        ]

    def phases(self) -> Sequence[Any]:
        """Walls, then floors; all envs write into one array each."""
        return [Kernel(name, threads_per_env=THREADS, own_env_only=False) for name in ("bake", "bake_floor")]

    def resets(self) -> Sequence[Any]:
        """Phases of a reset: none."""
        return []


def floors(walls: Sequence[np.ndarray]) -> np.ndarray:
    """The grids over plans, on whose nodes the light of floors is kept.

    Args:
        walls: of each plan, (walls, 2, 2) metres.

    Returns:
        (plans, 4) int64: the first node, columns, rows, nodes a metre: ``FLOOR_NODES``. They go from (0, 0) to beyond
        the last wall.
    """
    farthest = np.stack([plan.reshape(-1, 2).max(0).astype(np.float64) for plan in walls])
    sizes = np.maximum(np.ceil(farthest * FLOOR_NODES).astype(np.int64) + 1, 2)
    nodes = sizes.prod(1)
    return np.stack([nodes.cumsum() - nodes, *sizes.T, np.full_like(nodes, FLOOR_NODES)], axis=1)


def num_nodes(plan_floor: np.ndarray) -> int:
    """Number of nodes of the floors of all plans."""
    first, columns, rows, _ = plan_floor[-1].tolist()
    return int(first + columns * rows)


def lit(arrays: Mapping[str, np.ndarray], pattern: np.ndarray, device: str) -> dict[str, np.ndarray]:
    """Light packed plans.

    Args:
        arrays: ``plan_walls``, ``plan_first_wall``, ``wall_first_texel``, ``plan_lights``, ``plan_first_light`` and
            ``plan_floor``, as ``PlanSet`` describes them.
        pattern: (texels,) float32, linear brightness of each texel.
        device: as a World's.

    Returns:
        ``wall_texels`` (texels,) uint32, linear RGB, and ``floor_light`` (nodes,) uint8.
    """
    from warpworld.world import World

    inputs = {**arrays, "wall_pattern": pattern, "palette": linear_palette()}
    world = World(Bake(inputs), num_envs=len(arrays["plan_first_wall"]) - 1, device=device)
    world.reset()
    world.step()
    return {name: world.data.numpy(name).copy() for name in ("wall_texels", "floor_light")}
