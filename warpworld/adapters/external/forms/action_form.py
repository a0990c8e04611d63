"""Converts a library's space of actions into one that the store can hold, and actions back."""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space

from warpworld.adapters.external.forms.wrappers import action_wrapper, short
from warpworld.environment import (
    Path,
    as_gymnasium,
    built,
    choice_heads,
    is_whole,
    leaves,
    space_actions,
    stored_action,
)
from warpworld.errors import DeclarationError

MOST_CHOICES = 2**24  # of one agent; a policy has an output for each
MOST_COMBINATIONS = 2**16  # that are made single choices

Choices = (Discrete, MultiDiscrete, MultiBinary)


class ActionForm:
    """Flattens Tuples and Dicts of actions, and makes the library's actions of what the store holds.

    Args:
        space: the library's space of one agent's actions.
        where: library, environment and group, for messages.
        masks: "" for a space as it is, "parts" where masks allow the choices of each part, so that whole numbers of a
            Box are choices, and "joint" where they allow combinations, each of which becomes one choice.

    Attributes:
        space: as given, as a space of Gymnasium.
        stored: the space of which the store holds actions.
        taken: the library's space where ``stored`` differs from it, a flat Box or one of several parts; else None.
        counts: choices of each part, which a mask may forbid; empty if actions are no choices.
        is_joint: whether ``stored`` has a choice for each combination of parts.
        is_hybrid: whether ``stored`` is a Dict of parts: of choices and Boxes, or of Boxes of both kinds of numbers.

    Raises:
        DeclarationError: the store cannot hold such actions; the message names a wrapper.
    """

    def __init__(self, space: Any, where: str, masks: str = "") -> None:
        # a space whose numbers lie in one row
        self.space, self._where = as_gymnasium(space), where
        self._leaves = list(leaves(self.space))
        self._check_leaves()
        flat = _flat([leaf for _, leaf in self._leaves])
        # the form in which the store has them
        self.is_joint, self.is_hybrid = masks == "joint", flat is None
        self._flat = self.space if flat is None else flat if not masks or isinstance(flat, Choices) else _counted(flat)
        self.counts = choice_heads(self._flat) if self.is_hybrid else _counts(self._flat)
        if self.is_hybrid:
            self.stored: Space = Dict(OrderedDict(self._named()))  # whose order Gymnasium keeps
        else:
            self.stored = Discrete(math.prod(self.counts)) if self.is_joint else stored_action(self._flat)
        self.taken = None if self.is_joint or self.stored is self._flat else self._flat
        # choices that a policy can have outputs for
        if self.num_choices > MOST_CHOICES and not self.is_joint:
            raise DeclarationError(
                f"{where}: actions are in {short(self.space)}; expected at most {MOST_CHOICES:,} choices, since a "
                f"policy has an output for each. {action_wrapper(where, self.space)}"
            )

    def _check_leaves(self) -> None:
        """Refuse spaces of which a part has no numbers, or none that a policy has a head for."""
        bad = [(path, leaf) for path, leaf in self._leaves if not isinstance(leaf, (*Choices, Box))]
        if bad or not self._leaves:
            path, leaf = bad[0] if bad else ((), self.space)
            place = "".join(f"[{step!r}]" for step in path)
            part = f", of which a policy has no head for {place}: {short(leaf)}" if path else ""
            raise DeclarationError(
                f"{self._where}: actions are in {short(self.space)}{part}; expected Discrete, MultiDiscrete, "
                f"MultiBinary or a Box, or a Tuple or Dict of such. {action_wrapper(self._where, self.space)}"
            )
        if any(math.prod(leaf.shape or ()) == 0 for _, leaf in self._leaves if isinstance(leaf, Box)):
            raise DeclarationError(f"{self._where}: actions are in {short(self.space)}, which holds no number")

    def _named(self) -> Iterator[tuple[str, Space]]:
        """Spaces of the parts in the store, by names that arrays may have."""
        names = names_of_paths([path for path, _ in self._leaves])
        for name, (_, leaf) in zip(names, self._leaves, strict=True):
            yield name, stored_action(leaf)

    @property
    def num_choices(self) -> int:
        """Choices of ``stored``, in all heads; 0 if it has none."""
        if not isinstance(self.stored, (*Choices, Dict)):
            return 0
        return math.prod(self.counts) if self.is_joint else sum(self.counts)

    def masked(self, size: int) -> ActionForm | None:
        """The form that takes masks of so many truth values; None if such masks fit no form."""
        if not self.counts:
            return None
        is_gymnasiums = isinstance(self.stored, MultiBinary) and size == len(self.counts)  # a number for each flag
        if size == sum(self.counts) or is_gymnasiums:
            return self if self.num_choices else ActionForm(self.space, self._where, "parts")
        is_joint = not self.is_hybrid and len(self.counts) > 1 and size == math.prod(self.counts) <= MOST_COMBINATIONS
        return ActionForm(self.space, self._where, "joint") if is_joint else None

    def native(self, entries: np.ndarray) -> Any:
        """Actions of n agents as the library takes a batch of them.

        Args:
            entries: (n, numbers of one agent), as the store holds them; those of all parts in one row.

        Returns:
            An array (n, *shape) of the space's dtype; for a Tuple or Dict one of such arrays.
        """
        if self.is_joint:
            entries = np.stack(np.unravel_index(entries[:, 0], self.counts), -1)
        if self.is_hybrid:
            return _built_from(self.space, self._leaves, entries)
        values = space_actions(self._flat, entries)
        if not self._leaves[0][0]:
            return values.reshape(-1, *(self.space.shape or ())).astype(self.space.dtype)
        rows, first = values.reshape(len(entries), -1), 0
        parts: dict[tuple[Any, ...], np.ndarray] = {}
        for path, leaf in self._leaves:
            shape = leaf.shape or ()
            last = first + math.prod(shape)
            parts[path], first = rows[:, first:last].reshape(-1, *shape).astype(leaf.dtype), last
        return built(self.space, parts)


def _built_from(space: Space, parts: Iterable[tuple[Path, Space]], rows: np.ndarray) -> Any:
    """Actions of parts of several kinds, (n, *shape) each, in the structure of a space, from one row for each agent."""
    found, first = {}, 0
    for path, leaf in parts:
        last = first + math.prod(leaf.shape or ())
        stored = rows[:, first:last].astype(np.int64 if isinstance(leaf, Choices) else np.float32)
        found[path], first = space_actions(leaf, stored), last
    return built(space, found)


def names_of_paths(paths: Iterable[Path]) -> list[str]:
    """Names that arrays may have: the keys of paths, joined by underscores, each name once."""
    found: list[str] = []
    for path in paths:
        base = "_".join(re.sub(r"\W", "_", str(step), flags=re.ASCII) for step in path) or "part"
        name, number = base, 2
        while name in found:
            name, number = f"{base}_{number}", number + 1
        found.append(name)
    return found


def _flat(parts: list[Space]) -> Space | None:
    """One space of the numbers of all leaves; None if there is none that loses nothing."""
    # a single space
    if len(parts) == 1 and isinstance(parts[0], (*Choices, Box)):
        return parts[0]
    # choices, one after the other
    if parts and all(isinstance(leaf, Choices) for leaf in parts):
        starts = [np.broadcast_to(np.asarray(getattr(leaf, "start", 0)).ravel(), len(_counts(leaf))) for leaf in parts]
        return MultiDiscrete(np.concatenate([_counts(leaf) for leaf in parts]), start=np.concatenate(starts))
    # boxes that are all of whole numbers, or all of others
    boxes = [leaf for leaf in parts if isinstance(leaf, Box)]
    if not boxes or len(boxes) < len(parts) or len({is_whole(leaf) for leaf in boxes}) > 1:
        return None
    dtype = np.result_type(*(leaf.dtype for leaf in boxes))
    if is_whole(boxes[0]) and dtype.kind == "f":  # of uint64 and int64, which no integer holds
        return None
    low, high = (
        np.concatenate([getattr(leaf, end).ravel().astype(dtype) for leaf in boxes]) for end in ("low", "high")
    )
    return Box(low, high, dtype=dtype.type)


def _counts(space: Space) -> tuple[int, ...]:
    """Choices of each part, a Box of whole numbers included; empty if there are none."""
    if isinstance(space, Discrete):
        return (int(space.n),)
    if isinstance(space, MultiDiscrete):
        return tuple(space.nvec.ravel().tolist())
    if isinstance(space, MultiBinary):
        return (2,) * math.prod(space.shape)
    if isinstance(space, Box) and is_whole(space):
        low, high = (end.ravel().tolist() for end in (space.low, space.high))
        return tuple(int(last) - int(first) + 1 for first, last in zip(low, high, strict=True))
    return ()


def _counted(space: Space) -> Space:
    """A Box of whole numbers as choices."""
    assert isinstance(space, Box)
    return MultiDiscrete(np.array(_counts(space), np.int64), start=space.low.ravel().astype(np.int64))
