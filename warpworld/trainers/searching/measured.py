"""Choices of a search in given positions, for measures of policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from warpworld.environment import Environment, Probabilities
from warpworld.errors import DeclarationError
from warpworld.trainers.searching.searching import Search
from warpworld.trainers.searching.searching_policy import SearchingPolicy
from warpworld.world import World

ENVS = 128  # that are searched at once


def searched(policy: SearchingPolicy, environment: Environment, group: str) -> Probabilities:
    """A function of observations and masks, as ``Environment.measure`` takes it, that chooses by search.

    Args:
        policy: plays by search.
        environment: says from which state its agents see this, see ``Environment.state_of``.
        group: that the policy plays.
    """
    world = World(environment, ENVS, device="cpu", num_workers=1)  # a step of so few is not worth a wait for others
    world.reset()
    search, agents = Search(world, policy.search), world.groups[group].slice

    def probabilities(observations: Any, masks: np.ndarray) -> np.ndarray:
        found = np.zeros(np.shape(masks))
        state = environment.state_of(group, observations)
        for first in range(0, len(found), ENVS):
            rows = np.arange(first, first + ENVS) % len(found)  # the last ones are filled up with the first
            _place(world, group, _rows(observations, rows), {name: array[rows] for name, array in state.items()})
            legal = world["action_mask"]
            legal.zero_()[:, agents] = torch.from_numpy(np.asarray(masks[rows], bool))[:, None]
            chosen = search.search(policy).actions[: len(found) - first]
            found[np.arange(first, first + len(chosen)), chosen] = 1.0
        return found

    return probabilities


def _rows(observations: Any, rows: np.ndarray) -> Any:
    if isinstance(observations, Mapping):
        return {key: np.asarray(part)[rows] for key, part in observations.items()}
    return np.asarray(observations)[rows]


def _place(world: World, group: str, observations: Any, state: Mapping[str, np.ndarray]) -> None:
    """Write into envs what a group's agents see, and the state behind it.

    Raises:
        DeclarationError: ``state_of`` names an array that there is not, or gives another shape.
    """
    seen = world.observations(group)
    for key, view in seen.items() if isinstance(seen, dict) else [("", seen)]:
        part = observations[key] if key else observations
        view.copy_(torch.from_numpy(part).view(-1, *view.shape[2:])[:, None])
    for name, array in state.items():
        where = f"{world.environment.name}: state_of() gives '{name}'"
        if name not in world.data:
            raise DeclarationError(f"{where}, expected arrays of the env, such as {world.data.names('state')[0]}")
        if world[name].shape != array.shape:
            raise DeclarationError(f"{where} of shape {array.shape}, expected {tuple(world[name].shape)}")
        world[name].copy_(torch.from_numpy(np.ascontiguousarray(array)))
