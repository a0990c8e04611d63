"""The parts of an action: how each lies in the store, and which choices or numbers it has.

A Discrete, MultiDiscrete, MultiBinary or Box is one part. A Dict or Tuple, nested as may be, has one for each of its
leaves: a hybrid action, of choices and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from warpworld.environment.library_actions import library_actions
from warpworld.environment.nested_spaces import Path, built, is_nested, leaves
from warpworld.errors import DeclarationError

ACTED = "Discrete, MultiDiscrete, MultiBinary or a Box of float32"
_KEY = re.compile(r"[A-Za-z0-9_]+\Z")


@dataclass(frozen=True, eq=False)
class ActionPart:
    """Part of an agent's action.

    Attributes:
        key: of its array: the keys and indices that lead to it, joined by underscores; "" for an action of one part.
        path: these keys and indices.
        space: of the part.
        heads: numbers of choices of its heads; empty for a Box.
    """

    key: str
    path: Path
    space: Space
    heads: tuple[int, ...]

    @property
    def numbers(self) -> int:
        """Number of entries that one agent has in the store."""
        return len(self.heads) or self.space.low.size  # type: ignore[attr-defined]

    @property
    def dtype(self) -> str:
        """Dtype of the array that holds it: "int32" for choices, "float32" for a Box."""
        return "int32" if self.heads else "float32"

    @property
    def low(self) -> np.ndarray:
        """The least legal value of each entry, (numbers,)."""
        return np.zeros(self.numbers) if self.heads else self.space.low.ravel()  # type: ignore[attr-defined]

    @property
    def high(self) -> np.ndarray:
        """The greatest legal value of each entry, (numbers,)."""
        return np.array(self.heads) - 1.0 if self.heads else self.space.high.ravel()  # type: ignore[attr-defined]


def action_parts(space: Space) -> tuple[ActionPart, ...]:
    """The parts of an action, in the order of a Dict's keys and a Tuple's indices.

    Raises:
        DeclarationError: a part is none that a policy has a head for, or has a key that no array can have.
    """
    found: dict[str, ActionPart] = {}
    for path, leaf in leaves(space):
        key = "_".join(map(str, path))
        heads = choice_heads(leaf)
        if not heads and not _is_stored_box(leaf):
            raise DeclarationError(_no_head(space, path, leaf))
        if path and not all(_KEY.match(str(step)) for step in path):
            raise DeclarationError(
                f"action space {space}: key {key!r}, expected keys of letters, digits and underscores, as array names "
                "have"
            )
        if key in found:
            raise DeclarationError(f"action space {space}: two parts make the array name '{key}'; rename a key")
        found[key] = ActionPart(key, path, leaf, heads)
    if not found:
        raise DeclarationError(f"action space {space}: it has no parts, expected at least one of {ACTED}")
    return tuple(found.values())


def choice_heads(space: Space) -> tuple[int, ...]:
    """Numbers of choices of all heads of a space, whatever else it holds: none of a Box, those of a Dict's parts."""
    if isinstance(space, Discrete):
        return (int(space.n),)
    if isinstance(space, MultiDiscrete):
        return tuple(space.nvec.ravel().tolist())
    if isinstance(space, MultiBinary):
        return (2,) * int(np.prod(space.shape))
    return tuple(size for _, leaf in leaves(space) if leaf is not space for size in choice_heads(leaf))


def _is_stored_box(space: Space) -> bool:
    return isinstance(space, Box) and space.dtype == np.float32 and space.low.size > 0


def _no_head(space: Space, path: Path, leaf: Space) -> str:
    if not path:
        return f"action space {space}: expected {ACTED}, of at least one number, or a Dict or Tuple of such"
    place = "".join(f"[{step!r}]" for step in path)
    return (
        f"action space {space}: part {place} is {leaf}, for which a policy has no head; expected {ACTED}, of at least "
        "one number"
    )


def parts_with(stored: Space, taken: Space) -> list[tuple[ActionPart, Path, Space]]:
    """The parts of an action in the store, each with its path and space among those that callers take.

    Args:
        stored: the space of which the store holds actions.
        taken: the space outside of it, of as many parts in the same order, see ``Group.library_action``.
    """
    return [(part, path, leaf) for part, (path, leaf) in zip(action_parts(stored), leaves(taken), strict=True)]


def action_heads(space: Space) -> tuple[int, ...]:
    """Numbers of choices of an action's heads, of all parts that are choices in their order; empty if there are none.

    Raises:
        DeclarationError: as of ``action_parts``.
    """
    return tuple(size for part in action_parts(space) for size in part.heads)


def action_start(space: Space) -> np.ndarray:
    """Offset of actions of a space without parts from those in the store, in the space's shape.

    ``action - start`` is stored: stored choices count from 0, whatever the space's own ``start``.
    """
    counted = isinstance(space, (Discrete, MultiDiscrete))
    return np.asarray(space.start if counted else 0)  # type: ignore[attr-defined]


def space_actions(space: Space, entries: np.ndarray) -> np.ndarray:
    """Actions of a space without parts, (n, *shape) of its dtype, from the store's of n agents, (n, entries)."""
    if isinstance(space, Box) and space.dtype != np.float32:
        return library_actions(space, entries.reshape(-1, *space.shape))
    return (entries.reshape(-1, *(space.shape or ())) + action_start(space)).astype(space.dtype)


def nested_actions(space: Space, entries: Mapping[str, np.ndarray]) -> Any:
    """Actions of a space, nested as it is, from the store's entries (n, numbers) of each part by its key."""
    return built(space, {part.path: space_actions(part.space, entries[part.key]) for part in action_parts(space)})


def action_layout(space: Space) -> tuple[str, int]:
    """The dtype and the size of one agent's action in one row: what its array holds, and what learners record.

    Of a Dict or Tuple, whose parts have arrays of their own, a row has the choices of all parts, as float32, and behind
    them the numbers of all Boxes.
    """
    parts = action_parts(space)
    return "float32" if is_nested(space) else parts[0].dtype, sum(part.numbers for part in parts)
