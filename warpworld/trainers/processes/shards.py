"""The stores of several processes as the one store that a single process would have, for checkpoints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from warpworld.environment import DTYPES
from warpworld.managers import DataManager, aligned
from warpworld.trainers.collecting import ROW
from warpworld.trainers.processes.distributed import ProcessGroup
from warpworld.trainers.processes.saved_states import with_room_for_states
from warpworld.world import World

Layout = Sequence[Sequence[Any]]
EARLIER_ROW = "row"  # what the rollout's row was called as long as every world had one


def gather_store(world: World, processes: ProcessGroup, num_envs: int) -> tuple[Layout, Tensor]:
    """Layout and bytes of the state arrays of all envs, as process 0 saves them.

    Arrays per agent and per env are joined along the envs; those per world are process 0's.

    Args:
        world: this process's.
        processes: those that share the envs.
        num_envs: envs of all processes.

    Returns:
        What ``layout`` and ``snapshot`` of a single process's store would give; in other processes than the first the
        layout, and the bytes of their own part.
    """
    if not processes.several:
        return world.data.layout(), world.snapshot()
    # empty stores, of all envs and of each part
    whole = world.data.empty_like(num_envs)
    shares = processes.shares(num_envs)
    parts = [world.data.empty_like(len(share)) for share in shares] if processes.is_first else []
    # bytes of every process
    own = world.snapshot()
    snapshots = processes.gather(own, [part.snapshot().numel() for part in parts])
    # parts joined along the envs
    for share, part, snapshot in zip(shares, parts, snapshots, strict=False):
        part.restore(snapshot)
        for name in whole:
            if whole.array(name).per != "world":
                whole[name][share.start : share.stop] = part[name]
            elif share.start == 0:
                whole[name] = part[name]
    return whole.layout(), whole.snapshot() if processes.is_first else own


def restore_store(world: World, processes: ProcessGroup, num_envs: int, snapshot: Tensor, layout: Layout) -> None:
    """Write a snapshot of all envs back: this process's part of it.

    Raises:
        StoreError: the snapshot is of other arrays; the store is as it was.
    """
    snapshot, layout = _without_scratch(world.data, snapshot, _renamed(layout))
    snapshot, layout = with_room_for_states(world.data, num_envs, snapshot, layout)
    if not processes.several:
        world.restore(snapshot, layout)
        return
    whole, share = world.data.empty_like(num_envs), processes.share(num_envs)
    whole.restore(snapshot, layout)
    for name in whole:
        per_world = whole.array(name).per == "world"
        world[name].copy_(whole[name] if per_world else whole[name][share.start : share.stop])
    world.load_residents()


def _renamed(layout: Layout) -> Layout:
    """The layout as it would be saved today; earlier versions saved the rollout's row as an array of the world."""
    if any(entry[0] == ROW for entry in layout):
        return layout
    return [(ROW, *entry[1:]) if entry[0] == EARLIER_ROW else entry for entry in layout]


def _without_scratch(data: DataManager, snapshot: Tensor, layout: Layout) -> tuple[Tensor, Layout]:
    """The snapshot and the layout that would be saved today; earlier versions saved arrays that are scratch now."""
    scratch = set(data.names("scratch"))
    if not any(entry[0] in scratch for entry in layout) or any(entry[1] not in DTYPES for entry in layout):
        return snapshot, layout
    rooms = [aligned(math.prod(shape) * np.dtype(dtype).itemsize) for _, dtype, shape in layout]
    if sum(rooms) != snapshot.numel():
        return snapshot, layout  # which the store refuses
    parts = zip(layout, snapshot.split(rooms), strict=True)
    kept = [(entry, part) for entry, part in parts if entry[0] not in scratch]
    return torch.cat([part for _, part in kept]), [entry for entry, _ in kept]
