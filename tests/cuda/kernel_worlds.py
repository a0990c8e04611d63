"""Worlds that run one kernel of a test file a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.toys import agents, environment
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
    constants: Mapping[str, int] | None = None,
    **settings: Any,
) -> World:
    """A sealed world whose step is ``kernel``.

    Args:
        source: beside this file, or a whole path.
        kernel: its name.
        arrays: besides those that every world has.
        num_agents, num_envs, num_workers: how many.
        values: what is put into the arrays.
        constants: macros in upper case for the kernel.
        settings: for the World.
    """
    params = dict(constants or {})
    declared = environment(
        HERE / source, arrays, [agents(num_agents)], params, phases=[kernel], resets=(), compile_time=tuple(params)
    )
    world = World(declared, num_envs, num_workers=num_workers, **settings)
    world.reset()
    for name, value in (values or {}).items():
        world[name] = value
    return world


def run(world: World, *names: str) -> list[np.ndarray]:
    """One step; copies of these arrays."""
    world.step()
    return [world.data.numpy(name).copy() for name in names]
