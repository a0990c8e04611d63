"""Worlds of hide and seek, and steps in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tests.packaged import packaged
from warpworld import World

TINY: dict[str, Any] = dict(episode_length=12, preparation=4)
STILL, HOLD, LOCK, UNLOCK = (1, 1, 0, 0), (1, 1, 1, 0), (1, 1, 0, 1), (1, 1, 0, 2)


def make(num_envs: int = 1, **params: Any) -> World:
    """A world at its start."""
    world = packaged("hide_and_seek", num_envs, device="cpu", seed=3, **{**TINY, **params})
    world.reset()
    return world


def act(world: World, *actions: Any) -> None:
    """One step, in which agents beyond the given ones stand still."""
    rows = [*actions, *[STILL] * (world.num_agents - len(actions))]
    world["actions"] = torch.tensor([rows] * world.num_envs, dtype=torch.int32)
    world.step()


def random_actions(world: World, random: np.random.Generator) -> torch.Tensor:
    """Actions of all agents."""
    shape = (world.num_envs, world.num_agents)
    return torch.as_tensor(np.stack([random.integers(0, n, shape) for n in (3, 3, 2, 3)], -1), dtype=torch.int32)
