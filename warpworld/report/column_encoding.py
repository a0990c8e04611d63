"""Arrays of a recording as base64, for pages that show an agent's numbers; as many as a page has room for."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from warpworld.environment import Group
from warpworld.report.recorded_arrays import Column

MOST_CHARACTERS = 2_000_000  # of all arrays in a page
_WHOLE = ("uint8", "int8", "uint16", "int16", "uint32", "int32")  # what a page reads besides floats


def encode_columns(columns: Mapping[str, Column], groups: Mapping[str, Group], most: int) -> dict[str, Any]:
    """Arrays as JSON's own types, the smallest first until there is no room.

    An array that does not fit is kept of the first agents of each group, as many as fit.

    Args:
        columns: by name.
        groups: of the recording.
        most: characters that their numbers may take together.

    Returns:
        arrays, a list of name, dtype, shape (of one entry), first, agents (their numbers, null where all of them are
        there; of an array per env both are null), frames (1 where nothing changes) and data (base64, little-endian);
        and left_out, the names of arrays that there was no room for, in whole or in part.
    """
    encoded, left_out, room = {}, [], most
    for name, column in sorted(columns.items(), key=lambda item: item[1].values.size):
        entry = _encode(name, column, groups, room)
        if entry is None or entry["agents"] is not None:
            left_out.append(name)
        if entry is not None:
            room -= len(entry["data"])
            encoded[name] = entry
    return {"arrays": [encoded[name] for name in columns if name in encoded], "left_out": left_out}


def _encode(name: str, column: Column, groups: Mapping[str, Group], room: int) -> dict[str, Any] | None:
    """An array, in part where all of it has no room; None where not even a part has."""
    # values in few bytes; constant ones once
    values = _narrowed(column.values)
    if len(values) and (values == values[:1]).all():
        values = values[:1]
    # agents that there is room for
    agents = None
    if _characters(values.nbytes) > room:
        agents = _agents_that_fit(column, groups, room, values.nbytes)
        if not agents:
            return None
        values = values[:, [column.numbers.index(agent) for agent in agents]]
    own = 1 if column.first is None else 2  # dimensions before an entry's own
    return {
        "name": name,
        "dtype": values.dtype.name,
        "shape": list(values.shape[own:]),
        "first": column.first,
        "stride": column.stride,
        "agents": agents,
        "frames": len(values),
        "data": base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode("ascii"),
    }


def _agents_that_fit(column: Column, groups: Mapping[str, Group], room: int, size: int) -> list[int]:
    """Numbers of the first agents of each group, equally many of each."""
    if column.first is None:
        return []
    count = column.values.shape[1]
    most = int(room / (_characters(size) / count))
    shares = [[agent for agent in group.numbers if agent in column.numbers] for group in groups.values()]
    kept: list[int] = []
    for number in range(1, count + 1):
        wider = sorted(agent for share in shares for agent in share[:number])
        if len(wider) > most:
            break
        kept = wider
    return kept


def _characters(size: int) -> int:
    """Number of base64 characters for a number of bytes."""
    return 4 * ((size + 2) // 3)


def _narrowed(values: np.ndarray) -> np.ndarray:
    """Convert to a dtype that a page reads, as narrow as whole numbers allow."""
    if values.dtype == bool:
        return values.astype(np.uint8)
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    fitting = (name for name in _WHOLE if np.iinfo(name).min <= low and high <= np.iinfo(name).max)
    return values.astype(next(fitting, "float64"))
