"""A group's part of a world's arrays, in the shapes and dtypes of its spaces."""

from __future__ import annotations

from typing import Any

import torch
from gymnasium.spaces import Box, Space
from torch import Tensor

from warpworld.environment import Group, action_heads, action_start, subspaces
from warpworld.policies import library_tensor
from warpworld.world import World


def observations(world: World, group: Group) -> Any:
    """A group's observations, (num_envs, size, *shape) in its space; a dict of such for a Dict space."""
    stored, spaces = world.observations(group.name), subspaces(group.observation)
    if isinstance(stored, dict):
        return {key: _in_space(part, spaces[key]) for key, part in stored.items()}
    return _in_space(stored, group.observation)


def _in_space(stored: Tensor, space: Space) -> Tensor:
    """(num_envs, size, numbers) -> (num_envs, size, *shape of the space) of its dtype."""
    shape = (*stored.shape[:2], *(space.shape or ()))
    return stored.reshape(shape).to(getattr(torch, str(space.dtype)))


def stored_actions(world: World, group: Group) -> Tensor:
    """The group's part of the array that holds its actions: a view (num_envs, size, numbers)."""
    name, first = world.action_array(group.name)
    return world[name][:, first : first + group.size]


def actions(world: World, group: Group) -> Tensor:
    """A group's actions, in its space."""
    counted, taken = _in_space(stored_actions(world, group), group.action), group.library_action
    if isinstance(taken, Box):
        return library_tensor(taken, counted)
    return counted + torch.as_tensor(action_start(group.action), dtype=counted.dtype, device=counted.device)


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
