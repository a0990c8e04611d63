"""Rows of rings, in pieces between the store and a file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from warpworld.runs import ArrayReader, Writing, piece_lengths
from warpworld.trainers.collecting import Rows
from warpworld.trainers.histories.parts import Part

PLACES = "places"  # of slots: env and slot of each


def write_array(file: Writing, name: str, array: Tensor) -> None:
    """Write an array whole."""
    places = torch.arange(len(array), device=array.device)
    file.add(name, numpy_dtype(array), tuple(array.shape), _taken(array, (places,)))


def read_array(file: ArrayReader, name: str, array: Tensor, envs: range, part: Part) -> None:
    """Read an array (places, num_envs, ...): those of its envs that a part holds."""
    places = torch.arange(len(array), device=array.device)
    _read_rows(file, name, array, places, envs, part)


def read_own(file: ArrayReader, name: str, array: Tensor) -> None:
    """Read an array that every process has for itself; raises ValueError where it has another shape."""
    read = torch.from_numpy(file.whole(name, numpy_dtype(array)))
    if read.shape != array.shape:
        raise ValueError(f"array '{name}' has shape {tuple(read.shape)}, expected {tuple(array.shape)}")
    array.copy_(read)


def write_rows(file: Writing, ring: Rows, first: int, filled: Tensor | None) -> None:
    """Write the rows from ``first`` on, and the slots that were filled since ``filled``, (num_envs,)."""
    for name, array in ring.arrays.items():
        places = _row_places(ring, first, array)
        file.add(name, numpy_dtype(array), (len(places), *array.shape[1:]), _taken(array, (places,)))
    if ring.filled is None or filled is None:
        return
    places = _slot_places(ring, filled)
    file.add(f"{ring.name}.{PLACES}", np.dtype("int64"), tuple(places.shape), [places.cpu().numpy()])
    for name, array in ring.slots.items():
        pieces = _taken(array, (places[:, 0], places[:, 1]))
        file.add(name, numpy_dtype(array), (len(places), *array.shape[2:]), pieces)


def read_rows(file: ArrayReader, ring: Rows, envs: range, part: Part) -> None:
    """Read what ``write_rows`` wrote of the envs that this process has, ``envs``."""
    # rows of the part, by their numbers in the ring
    first, end = part.ends[ring.name]
    for name, array in ring.arrays.items():
        places = torch.arange(first, end, device=array.device) % ring.capacity
        _read_rows(file, name, array, places, envs, part)
    if ring.filled is None:
        return
    # filled slots, of the envs of this process
    places = torch.from_numpy(file.whole(f"{ring.name}.{PLACES}", np.dtype("int64")))
    places[:, 0] += part.envs.start - envs.start
    own = (places[:, 0] >= 0) & (places[:, 0] < len(envs))
    for name, array in ring.slots.items():
        for at, piece in file.pieces(name, numpy_dtype(array), (len(places), *array.shape[2:])):
            here = slice(at, at + len(piece))
            env, slot = places[here][own[here]].to(array.device).unbind(1)
            array[env, slot] = torch.from_numpy(piece)[own[here]].to(array.device)


def _read_rows(file: ArrayReader, name: str, array: Tensor, places: Tensor, envs: range, part: Part) -> None:
    """Read rows into their places, those of the envs that a part and this process have in common."""
    common = range(max(envs.start, part.envs.start), min(envs.stop, part.envs.stop))
    here, there = (slice(common.start - each.start, common.stop - each.start) for each in (envs, part.envs))
    shape = (len(places), len(part.envs), *array.shape[2:])
    for at, piece in file.pieces(name, numpy_dtype(array), shape):
        array[places[at : at + len(piece)], here] = torch.from_numpy(piece)[:, there].to(array.device)


def _row_places(ring: Rows, first: int, array: Tensor) -> Tensor:
    return torch.arange(first, ring.written, device=array.device) % ring.capacity


def _slot_places(ring: Rows, filled: Tensor) -> Tensor:
    """Env and slot, (count, 2) int64, of what was filled since ``filled`` and is still there; an env's in order."""
    assert ring.filled is not None
    slots = next(iter(ring.slots.values())).shape[1]
    now = ring.filled.long()
    first = torch.maximum(filled.to(now.device), now - slots)
    counts = now - first
    env = torch.repeat_interleave(torch.arange(len(now), device=now.device), counts)
    before = (counts.cumsum(0) - counts)[env]
    number = first[env] + torch.arange(len(env), device=now.device) - before
    return torch.stack([env, number % slots], 1)


def _taken(array: Tensor, places: tuple[Tensor, ...]) -> Iterator[np.ndarray]:
    """The entries of an array at some places, in pieces on the host."""
    count = len(places[0])
    nbytes = array[(0,) * len(places)].numel() * array.element_size() if array.numel() else 1
    at = 0
    for length in piece_lengths(count, nbytes):
        yield array[tuple(place[at : at + length] for place in places)].cpu().numpy()
        at += length


def numpy_dtype(array: Tensor) -> np.dtype:
    """NumPy's name of an array's numbers."""
    return np.dtype(str(array.dtype).removeprefix("torch."))
