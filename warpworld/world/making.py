"""Worlds by the names of their environments."""

from __future__ import annotations

from typing import Any

from warpworld.environment import get_environment
from warpworld.world.world import World


def make(
    name: str,
    num_envs: int,
    device: str = "auto",
    seed: int = 0,
    num_workers: int | None = None,
    final_observations: bool = False,
    **params: Any,
) -> World:
    """Make a world of the environment that ``name`` names.

    Args:
        name: a registered name, ``module:Class``, or ``path/to/file.py``.
        num_envs: envs to step together.
        device: "cpu", "cuda", or "auto" for the best one that works.
        seed: of all random numbers.
        num_workers: threads that step envs on a CPU; None means one per core.
        final_observations: keep what agents saw last in each episode, in ``world["final_observations"]``.
        **params: the environment's Params.

    Raises:
        WarpworldError: of the kinds that World raises; DeclarationError for an unknown name or parameter.
    """
    world = World(get_environment(name)(**params), num_envs, device, seed, num_workers)
    if final_observations:
        world.request("final_observations")
    return world
