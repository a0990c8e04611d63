"""Recordings as JSON, for pages that play them.

Each mark is stored once, however many frames show it, as an object of its fields; numbers are rounded to a two
thousandth of the view or finer, and a column of equal numbers becomes one number. A frame lists its marks by index.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from typing import Any

from warpworld.drawing import Drawing, Image, Mark, Text, colour_table
from warpworld.environment import Group, names_of_choices
from warpworld.report.column_encoding import MOST_CHARACTERS, encode_columns
from warpworld.report.recording import Frame, Recording

ANGLE_DECIMALS = 2  # of radians


def encode(recording: Recording, most: int = MOST_CHARACTERS) -> dict[str, Any]:
    """A recording as JSON's own types; marks.js and agents.js read them.

    Args:
        recording: what it holds.
        most: characters that the numbers of its arrays may take.

    Returns:
        title, about, drawn; groups, a list of name, size and names of actions; colours, name to [light, dark]; marks;
        and of every frame, as columns: view, marks (indices), seconds, episode, timestep, end, rewards and returns (of
        each agent), places (x of all agents, then y; null for an agent that is nowhere), if there are any. And arrays
        and left_out, as ``encode_columns`` returns them.
    """
    marks: dict[str, int] = {}
    frames = recording.frames
    shown = [encode_marks(frame.drawing, marks) for frame in frames]
    groups = recording.groups.values()
    return {
        "title": recording.title,
        "about": recording.about,
        "drawn": recording.drawn,
        "groups": [
            {
                **{"name": group.name, "first": group.first, "size": group.size, "stride": group.stride},
                **_names(group),
            }
            for group in groups
        ],
        "colours": {name: list(pair) for name, pair in colour_table(recording.groups).items()},
        "marks": [json.loads(text) for text in marks],
        "frames": {
            "view": _column([list(frame.drawing.view) for frame in frames]),
            "seconds": _column([frame.drawing.seconds for frame in frames]),
            "marks": shown,
            "episode": [frame.episode for frame in frames],
            "timestep": [frame.timestep for frame in frames],
            "end": [frame.end for frame in frames],
            "rewards": [[_short(value) for value in frame.rewards] for frame in frames],
            "returns": [[_short(value) for value in frame.returns] for frame in frames],
            "places": _places(frames),
        },
        **encode_columns(recording.columns, recording.groups, most),
    }


def _names(group: Group) -> dict[str, Any]:
    """actions, the names of the only head's choices; or heads, those of several heads; nothing if there are none."""
    heads = [list(names) for names in names_of_choices(group)]
    return {"actions": heads[0]} if len(heads) == 1 else {"heads": heads} if heads else {}


def _places(frames: Sequence[Frame]) -> list[list[float | None]] | None:
    """Places of agents in each frame; None if drawings do not give them."""
    if any(frame.drawing.places is None for frame in frames):
        return None
    decimals = _decimals(frames[0].drawing)
    return [
        [None if value != value else _rounded(value, decimals) for value in frame.drawing.places.ravel().tolist()]
        for frame in frames
    ]


def encode_marks(drawing: Drawing, known: dict[str, int]) -> list[int]:
    """Indices of a drawing's marks among the known ones, by their JSON, which grow by those that are new."""
    decimals = _decimals(drawing)
    texts = (json.dumps(_encode_mark(mark, decimals), separators=(",", ":")) for mark in drawing.marks)
    return [known.setdefault(text, len(known)) for text in texts]


def _decimals(drawing: Drawing) -> int:
    """Decimals that the view's lengths are rounded to."""
    return 3 - math.floor(math.log10(max(drawing.width, drawing.height)))


def _encode_mark(mark: Mark, decimals: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"kind": mark.kind, **_columns(mark, decimals)}
    fields |= {name: getattr(mark, name) for name in mark.colours}
    for name in mark.lengths:
        fields[name] = _rounded(getattr(mark, name), 3 if name == "opacity" else decimals + 1)
    if isinstance(mark, Text):
        fields |= {"text": mark.text, "align": mark.align}
    if isinstance(mark, Image):
        fields |= {"rows": len(mark.pixels), "pixels": base64.b64encode(mark.pixels.tobytes()).decode("ascii")}
        fields |= {"on_paper": True} if mark.on_paper else {}
    return fields


def _columns(mark: Mark, decimals: int) -> dict[str, Any]:
    """A mark's columns; of equal numbers as one number, but for one column that tells how many there are."""
    columns: dict[str, Any] = {}
    for name in mark.columns:
        places = ANGLE_DECIMALS if name in ("direction", "angle") else decimals
        columns[name] = [_rounded(value, places) for value in getattr(mark, name).tolist()]
    equal = [name for name, values in columns.items() if len(set(values)) == 1]
    count = len(columns[mark.columns[0]])
    for name in equal[1:] if count > 1 and len(equal) == len(columns) else equal:
        columns[name] = columns[name][0]
    return columns


def _rounded(value: float, decimals: int) -> float:
    number = round(value, decimals)
    return int(number) if number == int(number) else number


def _short(value: float) -> float:
    """Five digits, which is more than a reader needs."""
    return float(f"{value:.5g}")


def _column(values: list[Any]) -> Any:
    """A column of equal entries as a list of one."""
    return values[:1] if all(value == values[0] for value in values) else values
