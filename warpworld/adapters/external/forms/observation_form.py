"""Converts observations of a library's agents into what the store can hold, and into masks of actions."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary, Space, Text

from warpworld.adapters.external.forms.action_form import MOST_CHOICES, ActionForm, names_of_paths
from warpworld.adapters.external.forms.action_masks import MASK_KEYS, size_of_space
from warpworld.adapters.external.forms.wrappers import observation_wrapper, short
from warpworld.adapters.external.results import Place, lost_number
from warpworld.environment import SERVED, leaves, part_of
from warpworld.errors import DeclarationError

logger = logging.getLogger(__name__)

_COLOURS = (1, 3, 4)  # channels of a picture: grey, RGB, RGBA
_LEAST_SIDE = 5  # pixels; smaller arrays are no pictures


@dataclass(frozen=True)
class Leaf:
    """A space without parts, within an observation.

    Attributes:
        path: keys and indices that lead to it.
        space: the library's.
        stored: the store's.
        turned: whether the library has a picture's channels last, and the store has them first.
    """

    path: tuple[Any, ...]
    space: Space
    stored: Space
    turned: bool

    @property
    def key(self) -> str:
        """Name of it for messages; empty for a whole observation."""
        return "".join(f"[{step!r}]" for step in self.path)

    def of(self, observation: Any, place: Place) -> np.ndarray:
        """Take its numbers from an observation as the store has them: (*shape,), or of a batch (rows, *shape).

        Raises:
            DeclarationError: they are missing, are no numbers, have another shape, or the store would change them.
        """
        values = self.numbers(observation, place)
        self.check_exact(values, place)
        return np.moveaxis(values, -1, -3) if self.turned else values

    def numbers(self, observation: Any, place: Place) -> np.ndarray:
        """Take its numbers from an observation as the library has them.

        Raises:
            DeclarationError: they are missing, are no numbers, or have another shape.
        """
        shape = (*place.rows, *(self.space.shape or ()))
        values = _at(observation, self, place)
        if values.shape != shape or values.dtype.kind not in "biuf":
            raise DeclarationError(
                f"{place}: observation{self.key} is {values.dtype} of shape {values.shape}, expected numbers of shape "
                f"{shape}, as its space {short(self.space)} has"
            )
        return values

    def check_exact(self, values: np.ndarray, place: Place) -> None:
        """Refuse numbers that the store would change; raises DeclarationError."""
        lost = lost_number(values, self.stored)
        if lost is not None:
            row, what = lost
            advice = "Correct the environment or its space"
            if isinstance(self.stored, Box) and self.stored.dtype.kind == "f":  # which rounds whole numbers
                advice = observation_wrapper(place.where, self.space, ())
            raise DeclarationError(
                f"{place.of_row(row)}: observation{self.key}, whose space is {short(self.space)}, has {what}. {advice}"
            )


class ObservationForm:
    """Flattens Tuples and nested Dicts, turns pictures, and takes out the mask of actions.

    Args:
        observation: the library's space of one agent's observation.
        action: its space of actions, which a mask must fit.
        where: library and environment, for messages.
        group: name of the agents' group, for messages.

    Attributes:
        stored: the space as the store holds it.
        has_mask: whether observations hold a mask of actions, which ``stored`` then lacks.
        action: the form of actions; one that the mask allows, if there is a mask.

    Raises:
        DeclarationError: a part cannot be stored.
    """

    def __init__(self, observation: Space, action: Any, where: str, group: str) -> None:
        own = f"{where}: group '{group}'"
        self._mask, self.action = _mask_path(observation, ActionForm(action, own), own)
        found = list(_leaves(observation, own, self._mask))
        if not found:
            raise DeclarationError(f"{own}: observation {observation} holds no number")
        alone = len(found) == 1 and (self._mask is not None or not found[0].path)
        self._leaves = {"": found[0]} if alone else _named(found)
        self.stored: Space = (
            found[0].stored if alone else Dict({name: leaf.stored for name, leaf in self._leaves.items()})
        )
        self.has_mask = self._mask is not None

    def parts(self, observation: Any, place: Place) -> dict[str, np.ndarray]:
        """An observation's parts by the keys of ``stored``, a space that is no Dict under the empty name.

        Args:
            observation: the library's, of one agent or of a batch.
            place: its place, for messages; it says whether it is a batch.

        Returns:
            Arrays (*shape,), or (rows, *shape) of a batch, in the library's dtypes.

        Raises:
            DeclarationError: a part is missing or is not in its space.
        """
        return {name: leaf.of(observation, place) for name, leaf in self._leaves.items()}

    def nothing(self) -> dict[str, np.ndarray]:
        """Zeros in place of an observation, as ``parts`` gives it."""
        return {name: np.zeros(leaf.stored.shape or (), leaf.space.dtype) for name, leaf in self._leaves.items()}

    def mask(self, observation: Any) -> Any:
        """The mask of actions in an observation."""
        assert self._mask is not None
        return observation[self._mask[0]]


def shown(parts: Mapping[str, np.ndarray]) -> Any:
    """Parts as ``Envs`` hand them out: one array, or a mapping of several."""
    return parts[""] if "" in parts else dict(parts)


def _at(observation: Any, leaf: Leaf, place: Place) -> np.ndarray:
    given = observation
    for depth, step in enumerate(leaf.path):
        try:
            given = given[step]
        except (KeyError, IndexError, TypeError) as error:
            before = "".join(f"[{each!r}]" for each in leaf.path[:depth])
            has = f"has {', '.join(map(repr, given))}" if isinstance(given, Mapping) else f"is {type(given).__name__}"
            raise DeclarationError(
                f"{place}: observation{before} {has}, expected {step!r}, as its space has"
            ) from error
    try:
        return np.asarray(given)
    except Exception:  # of whatever the library made
        return np.empty(0, object)


def _leaves(whole: Space, where: str, mask: tuple[str] | None) -> Iterator[Leaf]:
    """All leaves of an observation but its mask and those that hold nothing."""
    for path, space in leaves(whole):
        if (mask is not None and path[:1] == mask) or _says_nothing(space):
            continue
        turned = _is_turned(space)
        leaf = Leaf(path, space, _stored(_turned(space) if turned else space), turned)
        part = part_of(leaf.stored)
        if part is None:
            raise DeclarationError(
                f"{where}: observation{leaf.key} is {short(space)}; expected a {SERVED}, or a Dict or Tuple of such. "
                f"{observation_wrapper(where, whole, path)}"
            )
        if part.is_choice and sum(part.feature_shape) > MOST_CHOICES:
            raise DeclarationError(
                f"{where}: observation{leaf.key} is {short(space)}; expected at most {MOST_CHOICES:,} choices, since a "
                f"policy reads each as a number. {observation_wrapper(where, whole, path)}"
            )
        yield leaf


def _says_nothing(space: Space) -> bool:
    """Whether a space has no numbers, or one value only."""
    if isinstance(space, Text):
        return space.max_length == 0 or (len(space.character_set) == 1 and space.min_length == space.max_length)
    return isinstance(space, Box) and math.prod(space.shape) == 0


def _is_turned(space: Space) -> bool:
    """Whether it is a picture (height, width, channels): of bytes, or of floats from 0 to 1 or 255."""
    if not isinstance(space, Box) or len(space.shape) != 3:
        return False
    height, width, channels = space.shape
    if channels not in _COLOURS or min(height, width) < _LEAST_SIDE:
        return False
    return space.dtype == np.uint8 or bool((space.low == 0).all() and np.isin(space.high, (1, 255)).all())


def _turned(space: Space) -> Box:
    assert isinstance(space, Box)
    low, high = np.moveaxis(space.low, -1, 0), np.moveaxis(space.high, -1, 0)
    return Box(low, high, dtype=space.dtype.type)


def _stored(space: Space) -> Space:
    """Numbers that are neither uint8 nor float16 become float32, truth values flags."""
    if not isinstance(space, Box) or space.dtype in (np.uint8, np.float16, np.float32):
        return space
    if space.dtype == np.bool_:
        return MultiBinary(space.shape) if space.shape else space
    with np.errstate(over="ignore"):
        return Box(space.low.astype(np.float32), space.high.astype(np.float32), dtype=np.float32)


def _named(leaves: list[Leaf]) -> dict[str, Leaf]:
    """Leaves by names that arrays may have: the keys of their paths, joined by underscores."""
    return dict(zip(names_of_paths(leaf.path for leaf in leaves), leaves, strict=True))


def _mask_path(observation: Space, action: ActionForm, where: str) -> tuple[tuple[str] | None, ActionForm]:
    """The place of an observation's mask of actions, None if it holds none, and the form of actions that it allows."""
    parts = observation.spaces if isinstance(observation, Dict) else {}
    for key in MASK_KEYS:
        if key in parts:
            size = size_of_space(parts[key])
            masked = action.masked(size) if size else None
            if masked is not None:
                return (key,), masked
            logger.warning(
                "%s: observation['%s'] is no mask for actions in %s, and is stored as numbers that agents see",
                where,
                key,
                action.space,
            )
    return None, action
