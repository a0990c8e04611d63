"""Actions of a caller on their way into the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Space, Tuple

from warpworld.environment import Path, action_start, built, is_nested, leaves, library_actions
from warpworld.errors import StoreError

Write = Callable[[Any], None]


def action_writer(target: np.ndarray, space: Space, must_fit: bool, name: str = "actions") -> Write:
    """A function that writes a batch of actions into the store: checks its shape and kind, and casts it once.

    Args:
        target: the array of the store, int32 or float32, or its copy in host memory, in the shape of a batch.
        space: of one action.
        must_fit: refuse whole numbers that an int32 does not hold, rather than cut them off.
        name: what errors call them.
    """
    is_whole, start = not isinstance(space, Box) or space.dtype == np.bool_, action_start(space)
    is_wide = isinstance(space, Box) and space.dtype.kind in "iu" and space.dtype.itemsize > 2
    counts_from_elsewhere = bool(start.any())
    shape, asarray, known = target.shape, np.asarray, target.dtype
    holds = _holds_few if target.size < 1024 else _holds_many

    def write(actions: Any) -> None:  # of names that it holds: a step of a few envs would notice look-ups
        nonlocal known
        # an array of the right shape and kind
        try:
            given = asarray(actions)
        except Exception as error:  # of parts of different shapes, or of a caller's own class
            raise _no_array(actions, shape, name) from error
        if given.dtype is not known or given.shape != shape:
            _check(given, shape, is_whole, name)
            known = given.dtype
        # the cast into the store
        if counts_from_elsewhere:
            given = np.subtract(given, start, dtype=np.int64, casting="unsafe")
        target[...] = given
        # numbers that the cast changed
        if is_wide and known.kind in "iu" and known.itemsize > 2 and not _holds_whole(space, target, given):
            raise _rounded(space, target, given, name)
        if must_fit and is_whole and known.itemsize > 4 and not holds(target, given):
            raise _too_large(given, target, name)

    return write


def parts_writer(targets: Mapping[Path, np.ndarray], space: Space, must_fit: bool, name: str = "actions") -> Write:
    """A function that writes a batch of actions into the store, those of a Dict or Tuple part by part.

    Args:
        targets: as for ``action_writer``, of each part by the path that leads to it in the space.
        space: of one action, as callers take it.
        must_fit: see ``action_writer``.
        name: what errors call them.
    """
    parts = {path: action_writer(targets[path], leaf, must_fit, place_of(name, path)) for path, leaf in leaves(space)}
    if not is_nested(space):
        return parts[()]

    def write(actions: Any) -> None:
        for path, given in parts_at(actions, space, name).items():
            parts[path](given)

    return write


def place_of(name: str, path: Path) -> str:
    """Text of a part, such as "actions['arm'][0]"."""
    return name + "".join(f"[{step!r}]" for step in path)


def parts_at(actions: Any, space: Space, name: str, path: Path = ()) -> dict[Path, Any]:
    """The values of all leaves of a space, by their paths.

    Raises:
        StoreError: dicts have other keys than the space, or tuples another length.
    """
    if isinstance(space, Dict):
        if not isinstance(actions, Mapping) or actions.keys() != space.spaces.keys():
            has = ", ".join(map(repr, actions)) if isinstance(actions, Mapping) else type(actions).__name__
            expected = ", ".join(map(repr, space.spaces))
            raise StoreError(f"{place_of(name, path)}: {has}, expected a dict of {expected}")
        steps: Any = space.spaces.items()
    elif isinstance(space, Tuple):
        if not isinstance(actions, (tuple, list)) or len(actions) != len(space.spaces):
            has = f"{len(actions)} parts" if isinstance(actions, (tuple, list)) else type(actions).__name__
            raise StoreError(f"{place_of(name, path)}: {has}, expected a tuple of {len(space.spaces)} parts")
        steps = enumerate(space.spaces)
    else:
        return {path: actions}
    found: dict[Path, Any] = {}
    for step, part in steps:
        found |= parts_at(actions[step], part, name, (*path, step))
    return found


def as_batch(action: Any, space: Space) -> Any:
    """The action of one env as a batch of one.

    Raises:
        StoreError: it is no array, or has other parts than the space.
    """
    if not is_nested(space):
        return _in_a_batch(action, "action")
    parts = parts_at(action, space, "action")
    return built(space, {path: _in_a_batch(part, place_of("action", path)) for path, part in parts.items()})


def _in_a_batch(action: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(action)[None]
    except Exception as error:
        raise _no_array(action, None, name) from error


def in_order(actions: Any, order: np.ndarray, space: Space) -> Any:
    """Actions of a batch in another order.

    Raises:
        StoreError: they are no array, have other parts than the space, or are of another number of envs.
    """
    parts = parts_at(actions, space, "actions")
    return built(space, {path: _ordered(part, order) for path, part in parts.items()})


def in_batches_of_one(actions: Any, num_envs: int, space: Space) -> list[Any]:
    """Actions of several envs as a batch for each; errors as of ``in_order``."""
    parts = {path: _ordered(part, np.arange(num_envs)) for path, part in parts_at(actions, space, "actions").items()}
    return [built(space, {path: part[env : env + 1] for path, part in parts.items()}) for env in range(num_envs)]


def _ordered(actions: Any, order: np.ndarray) -> np.ndarray:
    try:
        given = np.asarray(actions)
    except Exception as error:
        raise _no_array(actions, None, "actions") from error
    if given.shape[:1] != order.shape:
        raise StoreError(f"actions: shape {given.shape}, expected one for each of {len(order)} envs")
    return given[order]


def _no_array(given: Any, shape: tuple[int, ...] | None, name: str) -> StoreError:
    expected = "an array" if shape is None else f"an array of shape {shape}"
    text = " ".join(repr(given).split())
    return StoreError(f"{name}: {text:.80} ({type(given).__name__}) makes no array, expected {expected}")


def _check(given: np.ndarray, shape: tuple[int, ...], is_whole: bool, name: str) -> None:
    if given.shape != shape:
        raise StoreError(f"{name}: shape {given.shape}, expected {shape}")
    if given.dtype.kind not in ("iub" if is_whole else "iuf"):
        raise StoreError(f"{name}: expected {'whole ' if is_whole else ''}numbers, got {given.dtype}")


def _holds_few(target: np.ndarray, given: np.ndarray) -> bool:
    """Whether the numbers arrived as they were given; by bytes, which is fastest for few."""
    return target.astype(given.dtype).tobytes() == given.tobytes()


def _holds_many(target: np.ndarray, given: np.ndarray) -> bool:
    """Whether the target holds the given values, by one reduction if nothing is negative."""
    return bool(0 <= np.bitwise_or.reduce(given, axis=None) < 2**31) or bool((target == given).all())


def _holds_whole(space: Space, target: np.ndarray, given: np.ndarray) -> bool:
    """Whether a Box of whole numbers that float32 need not hold gets those that were given."""
    if not given.size or (given.min() >= -(2**24) and given.max() <= 2**24):
        return True
    return bool((_received(space, target) == given).all())


def _received(space: Space, target: np.ndarray) -> np.ndarray:
    assert isinstance(space, Box)
    return library_actions(space, target.reshape(-1, *space.shape)).reshape(target.shape)


def _rounded(space: Space, target: np.ndarray, given: np.ndarray, name: str) -> StoreError:
    received, given = np.atleast_1d(_received(space, target), given)
    place = tuple(np.argwhere(received != given)[0])
    return StoreError(
        f"{name}: env {place[0]} has {given[place]}, expected a whole number that float32 holds, as the store does; "
        f"{received[place]} is the nearest. Wrap the env in gymnasium.wrappers.TransformAction(env, "
        "lambda action: ..., gymnasium.spaces.Box(...)) with smaller numbers; docs/external.md#wrappers shows where"
    )


def _too_large(given: np.ndarray, target: np.ndarray, name: str) -> StoreError:
    given, target = np.atleast_1d(given, target)
    place = tuple(np.argwhere(target != given)[0])
    return StoreError(f"{name}: env {place[0]} has {given[place]}, which an int32 does not hold")
