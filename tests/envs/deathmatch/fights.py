"""Worlds of Deathmatch for tests, and what is done in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tests.eyes.blocks.block_worlds import place
from tests.packaged import packaged
from warpworld import World

BOX: dict[str, Any] = {"plans": "box", "res": 16, "subsample": 4}  # walls at 1 m and 6 m
HOMES: dict[str, Any] = {"num_plans": 3, "min_rooms": 2, "max_rooms": 5, "res": 16, "subsample": 4}
FOUR: dict[str, Any] = {"players": 2, "rivals": 2}


def made(num_envs: int, near_spawn: float = 0.0, seed: int = 5, **params: Any) -> World:
    """A world after its reset."""
    world = packaged("deathmatch", num_envs, device="cpu", seed=seed, **params)
    world.seal()
    world["near_spawn"].fill_(near_spawn)
    world.reset()
    return world


def act(world: World, move: Any = 0, turn: Any = 0, fire: Any = 0) -> None:
    """One step; what is given is broadcast to (num_envs, num_agents)."""
    for head, chosen in enumerate((move, turn, fire)):
        world["actions"][..., head] = torch.as_tensor(chosen)
    world.step()


def random_step(world: World, draws: np.random.Generator, fire: float = 0.5) -> None:
    """One step of random moves and turns; who can fires with this probability."""
    shape = world.data.numpy("kills").shape
    act(world, draws.integers(0, 5, shape), draws.integers(0, 5, shape), draws.random(shape) < fire)


def face_off(num_envs: int, distance: float = 2.0, **params: Any) -> World:
    """Two agents in a box that stand still and look at each other."""
    world = made(num_envs, **{**BOX, **params})
    place(world, [[2.0, 3.5], [2.0 + distance, 3.5]], [0.0, -180.0])
    return world
