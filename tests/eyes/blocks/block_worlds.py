"""Environments of blocks, and how tests put agents where they want them."""

from __future__ import annotations

from typing import Any

import torch

from warpworld import Group, World
from warpworld.eyes.blocks import IMU, RGB, BlockEnvironment, Depth, MomentumMovement, RandomLifespans, RandomSpawns

SMALL: dict[str, Any] = {"plans": "column", "res": 48, "fov": 100.0}
ALL = (MomentumMovement(), RGB(), Depth(), IMU(), RandomSpawns(), RandomLifespans())
NOTHING, LEFT, RIGHT, FORWARD, BACK, TURN_LEFT, TURN_RIGHT = range(7)


def declared(*blocks: Any, agents: int = 2, members: dict[str, Any] | None = None, **params: Any) -> BlockEnvironment:
    """An environment of these blocks, and of other ``members``."""

    def groups(self: BlockEnvironment) -> list[Group]:
        return [Group("agent", agents, self.observation(), self.action())]

    cls = type("Blocks", (BlockEnvironment,), {"blocks": blocks, "groups": groups, **(members or {})})
    environment: BlockEnvironment = cls(**{**SMALL, **params})
    return environment


def made(*blocks: Any, num_envs: int = 3, agents: int = 2, seed: int = 7, **params: Any) -> World:
    world = World(declared(*blocks, agents=agents, **params), num_envs, device="cpu", seed=seed)
    world.reset()
    return world


def place(world: World, positions: Any, angles: Any) -> None:
    """Put all agents somewhere, at rest."""
    world["positions"][:] = torch.as_tensor(positions)
    world["angles"][:] = torch.as_tensor(angles)
    world["velocity"][:] = 0.0
    world["angvelocity"][:] = 0.0


def act(world: World, *actions: int) -> None:
    """One step in which agent i of every env does ``actions[i]``."""
    world["actions"][:, :, 0] = torch.as_tensor(actions)
    world.step()
