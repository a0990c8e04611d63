"""Saved states that envs keep outside of the store, in arrays as large as those of the world that takes them."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from warpworld.environment import DTYPES
from warpworld.errors import StoreError
from warpworld.managers import DataManager, aligned
from warpworld.world import OUTSIDE_SIZE, OUTSIDE_STATE, World

logger = logging.getLogger(__name__)
_NAMES = (OUTSIDE_STATE, OUTSIDE_SIZE)
Layout = Sequence[Sequence[Any]]


def with_room_for_states(data: DataManager, num_envs: int, snapshot: Tensor, layout: Layout) -> tuple[Tensor, Layout]:
    """Give a snapshot as much room for states outside of the store as a world has; it may have had another.

    States that the world has no arrays for are left out; where it has some and the snapshot has none, they are empty,
    and their envs begin anew.

    Args:
        data: the world's store.
        num_envs: envs of all processes.
        snapshot: of a store.
        layout: its arrays.

    Raises:
        StoreError: a state has more bytes than there is room for.
    """
    saved = {entry[0]: list(entry) for entry in layout}
    own: dict[str, list[Any]] = {
        name: [name, dtype, [num_envs, *shape[1:]]] for name, dtype, shape in data.layout() if name in _NAMES
    }
    if own == {name: saved[name] for name in _NAMES if name in saved} or not _is_whole(snapshot, layout):
        return snapshot, layout  # which the store takes or refuses
    # states as they were saved
    parts = dict(zip(saved, snapshot.split([_room(entry) for entry in layout]), strict=True))
    states, sizes = (parts.pop(name, None) for name in _NAMES)
    if not own:
        return _joined(parts, [saved[name] for name in parts])
    # the same in the world's arrays
    room = own[OUTSIDE_STATE][2][1]
    new = torch.zeros(num_envs, room, dtype=torch.uint8)
    lengths = torch.zeros(num_envs, dtype=torch.int32)
    if states is None or sizes is None:
        logger.warning("the checkpoint holds no states of envs: they begin new episodes")
    else:
        old = states[: num_envs * saved[OUTSIDE_STATE][2][1]].view(num_envs, -1)
        lengths = sizes[: 4 * num_envs].clone().view(torch.int32)
        if int(lengths.max()) > room:
            raise StoreError(
                f"a saved state of an env has {int(lengths.max()):,} bytes, and there is room for {room:,}; set "
                f"env.state_bytes={int(lengths.max())}"
            )
        new[:, : old.shape[1]] = old[:, :room]
    parts[OUTSIDE_STATE], parts[OUTSIDE_SIZE] = _padded(new), _padded(lengths)
    return _joined(parts, [own.get(name) or saved[name] for name in parts])


def _is_whole(snapshot: Tensor, layout: Layout) -> bool:
    """Whether a snapshot has the bytes that a layout says."""
    known = all(entry[1] in DTYPES for entry in layout) and len({entry[0] for entry in layout}) == len(layout)
    return known and sum(map(_room, layout)) == snapshot.numel()


def _room(entry: Sequence[Any]) -> int:
    """Bytes of an array in a snapshot."""
    return aligned(math.prod(entry[2]) * np.dtype(entry[1]).itemsize)


def _padded(values: Tensor) -> Tensor:
    """The bytes of an array with those that follow it in a snapshot."""
    data = values.contiguous().view(-1).view(torch.uint8)
    return torch.cat([data, torch.zeros(aligned(data.numel()) - data.numel(), dtype=torch.uint8)])


def _joined(parts: dict[str, Tensor], layout: Layout) -> tuple[Tensor, Layout]:
    return torch.cat(list(parts.values())), layout


def lacks_states(world: World) -> bool:
    """Whether a checkpoint that was loaded held no states of envs, though the world has some."""
    return OUTSIDE_SIZE in world and not bool(world[OUTSIDE_SIZE].any())
