"""A group's part of a world's arrays, in the shapes and dtypes of its spaces."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Space
from torch import Tensor

from warpworld.environment import (
    Group,
    action_heads,
    action_start,
    at_path,
    built,
    parts_with,
    subspaces,
)
from warpworld.policies import library_tensor
from warpworld.world import World


def observations(world: World, group: Group, final: bool = False) -> Any:
    """A group's observations, (num_envs, size, *shape) in its space; a dict of such for a Dict space; or final ones."""
    stored, spaces = world.observations(group.name, final), subspaces(group.observation)
    if isinstance(stored, dict):
        return {key: _in_space(part, spaces[key]) for key, part in stored.items()}
    return _in_space(stored, group.observation)


def _in_space(stored: Tensor, space: Space) -> Tensor:
    """(num_envs, size, numbers) -> (num_envs, size, *shape of the space) of its dtype."""
    shape = (*stored.shape[:2], *(space.shape or ()))
    return stored.reshape(shape).to(getattr(torch, str(space.dtype)))


def actions(world: World, group: Group) -> Any:
    """A group's actions, in its space: (num_envs, size, *shape); a dict or tuple of such for a Dict or Tuple space."""
    stored, parts = world.actions(group.name), parts_with(group.action, group.callers_action)
    found = {path: _taken(stored[part.key], part.space, space) for part, path, space in parts}
    return built(group.callers_action, found)


def _taken(stored: Tensor, space: Space, taken: Space) -> Tensor:
    """Actions of one part in the space of a caller, which another library may have."""
    counted = _in_space(stored, space)
    if isinstance(taken, Box) and taken.dtype != np.float32:
        return library_tensor(taken, counted)
    return counted + torch.as_tensor(action_start(space), dtype=counted.dtype, device=counted.device)


def write_actions(world: World, group: Group, actions: Any) -> None:
    """Put a group's actions, as a policy chose them in the space of a caller, into the store."""
    stored = world.actions(group.name)
    for part, path, _ in parts_with(group.action, group.callers_action):
        given = at_path(actions, path)
        if part.heads:
            given = given - torch.as_tensor(action_start(part.space), device=given.device)
        stored[part.key].copy_(given.reshape(stored[part.key].shape))


def action_mask(world: World, group: Group) -> Tensor | None:
    """A group's allowed actions, (num_envs, size, choices) bool; None if there is no mask."""
    heads = action_heads(group.action)
    return world["action_mask"][:, group.slice, : sum(heads)] if heads and "action_mask" in world else None


def ends(world: World, group: Group) -> tuple[Tensor, Tensor]:
    """Agents whose episode ended in the latest step, by itself and cut by a limit: (num_envs, size) bool each."""
    return _of_agents(world, group, "terminated"), _of_agents(world, group, "truncated")


def _of_agents(world: World, group: Group, how: str) -> Tensor:
    """Agents whose own part or whose env's episode ended so."""
    ended = world[how].unsqueeze(1).expand(world.num_envs, group.size)
    return ended | world[f"agent_{how}"][:, group.slice] if f"agent_{how}" in world else ended
