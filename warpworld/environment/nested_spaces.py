"""Spaces and values that are nested: Dicts and Tuples, what lies at their leaves, and copies of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from gymnasium.spaces import Dict, Space, Tuple

from warpworld.environment.gym_spaces import as_gymnasium

Path = tuple[Any, ...]
AnySpace = TypeVar("AnySpace", bound=Space)


def leaves(space: Space, path: Path = ()) -> Iterator[tuple[Path, Space]]:
    """Spaces without parts, by the keys and indices that lead to them; a space without parts alone, by ()."""
    space = as_gymnasium(space)
    if not isinstance(space, (Dict, Tuple)):
        yield path, space
        return
    for step, part in space.spaces.items() if isinstance(space, Dict) else enumerate(space.spaces):
        yield from leaves(part, (*path, step))


def built(space: Space, values: Mapping[Path, Any], path: Path = ()) -> Any:
    """Values of all leaves, by their paths, in the structure of a space: dicts and tuples."""
    if isinstance(space, Dict):
        return {key: built(part, values, (*path, key)) for key, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple(built(part, values, (*path, step)) for step, part in enumerate(space.spaces))
    return values[path]


def at_path(nested: Any, path: Path) -> Any:
    """The value in dicts and tuples to which a path leads."""
    for step in path:
        nested = nested[step]
    return nested


def is_nested(space: Space) -> bool:
    """Whether a space has parts."""
    return isinstance(space, (Dict, Tuple))


def mapped(fn: Callable[[Any], Any], nested: Any) -> Any:
    """Values in dicts and tuples, each replaced by what ``fn`` makes of it."""
    if isinstance(nested, Mapping):
        return {key: mapped(fn, part) for key, part in nested.items()}
    if isinstance(nested, tuple):
        return tuple(mapped(fn, part) for part in nested)
    return fn(nested)


def own_space(space: AnySpace) -> AnySpace:
    """A space that shares nothing with the given one, not even a part that stands in it twice.

    Each space has a generator of its own, and so has each part of a Dict or a Tuple.
    """
    copied = copy.deepcopy(space)
    if isinstance(copied, Dict):
        copied.spaces = {key: own_space(part) for key, part in copied.spaces.items()}
    if isinstance(copied, Tuple):
        copied.spaces = tuple(own_space(part) for part in copied.spaces)
    return copied
