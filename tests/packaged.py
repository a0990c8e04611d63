"""Worlds of packaged environments with the defaults of their Params, not with those of a config."""

from __future__ import annotations

from typing import Any

from warpworld import World
from warpworld.environment import get_environment


def packaged(
    name: str,
    num_envs: int,
    device: str = "auto",
    seed: int = 0,
    num_workers: int | None = None,
    final_observations: bool = False,
    **params: Any,
) -> World:
    """As ``warpworld.make``, without the config of that name."""
    world = World(get_environment(name)(**params), num_envs, device, seed, num_workers)
    if final_observations:
        world.request("final_observations")
    return world
