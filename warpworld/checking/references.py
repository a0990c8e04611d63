"""References for kernels: a function of an env's arrays, or an env of Gymnasium."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Space

from warpworld.environment import leaves, mapped, nested_actions
from warpworld.errors import DeclarationError
from warpworld.world import World

Arrays = Mapping[str, np.ndarray]
Predict = Callable[[Arrays], Mapping[str, Any]]
Load = Callable[[Any, Arrays], None]
Reference = Predict | gymnasium.Env


def reference_of(world: World, reference: Any, load: Load | None) -> Predict:
    """A reference as a function of an env's arrays.

    Raises:
        DeclarationError: it is none, it has other spaces than the world's agents, or ``load`` is missing.
    """
    if isinstance(reference, gymnasium.Env):
        return _of_gymnasium(world, reference, load)
    if not callable(reference):
        raise DeclarationError(
            f"compare: the reference is {reference!r}, expected a function of arrays or an env of Gymnasium"
        )
    if load is not None:
        raise DeclarationError("compare: load= is for an env of Gymnasium; a function gets the arrays itself")
    return reference


def _of_gymnasium(world: World, env: gymnasium.Env, load: Load | None) -> Predict:
    # one agent, and spaces that agree
    if world.num_agents != 1:
        raise DeclarationError(
            f"compare: an env of Gymnasium has one agent, {world.environment.name} has {world.num_agents}; give a "
            "function of arrays"
        )
    if load is None:
        raise DeclarationError("compare: load= is missing; it puts the env of Gymnasium into the state of the arrays")
    (group,) = world.groups.values()
    for kind, own, other in (
        ("observation", group.observation, env.observation_space),
        ("action", group.action, env.action_space),
    ):
        if not _agree(own, other):
            raise DeclarationError(f"compare: the reference's {kind} space is {other}, expected {own}")
    # a step of the env, from given arrays
    plain = env.unwrapped  # a time limit of its own has no place in steps from given states
    env.reset(seed=0)
    names = world.action_names(group.name)

    def predict(arrays: Arrays) -> Mapping[str, Any]:
        load(plain, arrays)
        batch = nested_actions(group.action, {key: arrays[name] for key, name in names.items()})
        observation, reward, terminated, _, _ = plain.step(mapped(lambda part: part[0], batch))
        return {
            "observations": np.asarray(observation)[None],
            "rewards": np.asarray([reward]),
            "terminated": np.asarray(terminated),
        }

    return predict


def _agree(own: Space, other: Space) -> bool:
    """Whether two spaces are of the same kind, shape and number of choices, in every part."""
    pairs = list(leaves(own)), list(leaves(other))
    if [path for path, _ in pairs[0]] != [path for path, _ in pairs[1]]:
        return False
    return all(
        one.shape == two.shape and type(one) is type(two) and getattr(one, "n", 0) == getattr(two, "n", 0)
        for (_, one), (_, two) in zip(*pairs, strict=True)
    )
