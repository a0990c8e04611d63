"""Choices of a person who plays an agent: names, keys, and the numbers that they stand for."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Box

from warpworld.environment import Environment, Group, is_nested, keys_of_heads, names_of_heads
from warpworld.errors import RunError

DEFAULT_KEYS = "1234567890" + string.ascii_lowercase  # of a single head that declares none


@dataclass(frozen=True)
class Head:
    """Part of an action: one of its choices is taken in each step.

    Attributes:
        names: of its choices.
        keys: of a keyboard, "" where none stands for a choice.
        values: what the store holds for each choice.
        rests: whether a choice without a key is taken while no key is held.
    """

    names: tuple[str, ...]
    keys: tuple[str, ...]
    values: tuple[float, ...]
    rests: bool

    def as_json(self) -> dict[str, Any]:
        """JSON's own types, as play.js reads them."""
        keys = [key.split("+") if key else [] for key in self.keys]
        return {"names": list(self.names), "keys": keys, "rests": self.rests}


def heads_of(environment: Environment, group: Group) -> tuple[Head, ...]:
    """The heads of a group's actions.

    Raises:
        RunError: its actions have no names, several heads have no keys, or a Box has no ends.
    """
    where = f"{environment.name}: group '{group.name}'"
    names, keys = names_of_heads(group), keys_of_heads(group)
    if not names and environment.name == "external":
        raise RunError(
            f"{where}: another library's env gives its actions no names or keys, so it cannot be played; expected a "
            "packaged environment with names, such as tag_gridworld, or one of your own: docs/play.md"
        )
    if not names:
        hint = "of a Dict or Tuple cannot be played" if is_nested(group.action) else "have no names"
        raise RunError(
            f"{where}: actions {hint}, expected action_names and action_keys of a Discrete, MultiDiscrete, MultiBinary "
            "or Box where the environment declares the group"
        )
    if not keys and len(names) > 1:
        raise RunError(f"{where}: actions of {len(names)} parts have no keys, expected action_keys beside action_names")
    if isinstance(group.action, Box):
        ends = [_ends(where, low, high) for low, high in zip(*_bounds(group.action), strict=True)]
        return tuple(Head((low, "none", high), _between(keys, i), ends[i], True) for i, (low, high) in enumerate(names))
    shown = keys or (tuple(DEFAULT_KEYS[i : i + 1] for i in range(len(names[0]))),)
    return tuple(
        Head(texts, own, tuple(map(float, range(len(texts)))), bool(keys) and "" in own)
        for texts, own in zip(names, shown, strict=True)
    )


def _bounds(space: Box) -> Sequence[list[float]]:
    return [bound.ravel().astype(float).tolist() for bound in (space.low, space.high)]


def _between(keys: tuple[tuple[str, ...], ...], number: int) -> tuple[str, ...]:
    """Keys of a number of a Box: of its lowest value, none of the middle, of its highest."""
    low, high = keys[number] if keys else tuple(DEFAULT_KEYS[:2])
    return low, "", high


def _ends(where: str, low: float, high: float) -> tuple[float, float, float]:
    """The lowest value, 0 or else the middle, and the highest."""
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RunError(f"{where}: an action from {low:g} to {high:g} has no keys to play it, expected finite ends")
    return low, 0.0 if low <= 0.0 <= high else (low + high) / 2, high
