"""Random numbers of an env: its key, its stream and its clock, as arrays of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from warpworld.errors import DeclarationError
from warpworld.managers import DataManager, WorldConstants
from warpworld.world.kernel_constants import whole_number
from warpworld.world.reserved import own_streams

Seed = int | Sequence[int | None] | np.ndarray


def seed_envs(data: DataManager, world: WorldConstants, seed: Seed) -> None:
    """Restart the active envs' trajectories from a seed.

    Args:
        data: a sealed store.
        world: how many envs there are, and the first of them.
        seed: one number: env i follows the trajectory that it has in a new world of that seed. Or one entry for each
            env: the env follows the trajectory of a one-env world of that seed, or keeps its own with None.

    Raises:
        DeclarationError: a seed is not a whole number from 0 to 2^64 - 1, or there is not one for each env.
    """
    if isinstance(seed, (list, tuple, np.ndarray)):
        given = list(seed)
        if len(given) != world.num_envs:
            raise DeclarationError(f"seed: {len(given)} entries, expected one for each of {world.num_envs} envs")
        seeds = [whole_number(f"seed[{i}]", 0 if each is None else each, 0, bits=64) for i, each in enumerate(given)]
        chosen = np.array([each is not None for each in given])
        streams = np.zeros(world.num_envs, np.uint32)
    else:
        seeds = [whole_number("seed", seed, 0, bits=64)] * world.num_envs
        chosen = np.ones(world.num_envs, np.bool_)
        streams = own_streams(world)
    _write(data, "random_key", np.array(seeds, np.uint64).view(np.int64), chosen)
    _write(data, "random_stream", streams.view(np.int32), chosen)
    _write(data, "clock", np.zeros(world.num_envs, np.int64), chosen)


def _write(data: DataManager, name: str, values: Any, chosen: np.ndarray) -> None:
    """Write into the active ones among the chosen envs; torch has no arithmetic on unsigned words."""
    import torch

    view = data[name]
    signed = view.view(torch.int64 if view.element_size() == 8 else torch.int32)
    where = data["active"] & torch.from_numpy(chosen).to(view.device)
    signed.copy_(torch.where(where, torch.from_numpy(values).to(view.device), signed))
