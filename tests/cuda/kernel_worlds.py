"""Worlds that run one kernel of a test file a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from toys import agents, environment

from warpworld import Array, Kernel, World

HERE = Path(__file__).parent


def kernel_world(
    source: str | Path,
    kernel: str | Kernel,
    arrays: Sequence[Array],
    num_agents: int = 5,
    num_envs: int = 7,
    num_workers: int = 1,
    values: Mapping[str, Any] | None = None,
    **settings: Any,
) -> World:
    """A sealed world whose step is ``kernel``; arrays are set to ``values``. Sources lie beside this file."""
    declared = environment(HERE / source, arrays, groups=[agents(num_agents)], phases=[kernel], resets=())
    world = World(declared, num_envs, num_workers=num_workers, **settings)
    world.reset()
    for name, value in (values or {}).items():
        world[name] = value
    return world


def run(world: World, *names: str) -> list[np.ndarray]:
    """One step; copies of these arrays."""
    world.step()
    return [world[name].numpy().copy() for name in names]
