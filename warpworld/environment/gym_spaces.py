"""Spaces of the old gym package, taken as gymnasium's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium import spaces


def _box(space: Any) -> spaces.Space:
    return spaces.Box(space.low, space.high, tuple(space.shape), space.dtype.type)


def _dict(space: Any) -> spaces.Space:
    return spaces.Dict({key: as_gymnasium(part) for key, part in space.spaces.items()})


def _tuple(space: Any) -> spaces.Space:
    return spaces.Tuple([as_gymnasium(part) for part in space.spaces])


_CONVERSIONS: dict[str, Callable[[Any], spaces.Space]] = {
    "Box": _box,
    "Dict": _dict,
    "Discrete": lambda space: spaces.Discrete(int(space.n), start=int(getattr(space, "start", 0))),
    "MultiBinary": lambda space: spaces.MultiBinary(tuple(space.shape)),
    "MultiDiscrete": lambda space: spaces.MultiDiscrete(space.nvec),
    "Tuple": _tuple,
}


def as_gymnasium(space: Any) -> Any:
    """A gymnasium space equal to a space of the package gym; anything else is returned as it is."""
    for cls in type(space).__mro__:
        if cls.__module__.startswith("gym.spaces.") and cls.__name__ in _CONVERSIONS:
            return _CONVERSIONS[cls.__name__](space)
    return space
