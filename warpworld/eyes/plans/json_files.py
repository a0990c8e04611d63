"""Plans as JSON files; the format is on ``docs/plans.md``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from warpworld.errors import PlanError, suggest
from warpworld.eyes.plans.checks import FARTHEST
from warpworld.eyes.plans.constants import RESOLUTION
from warpworld.eyes.plans.plan import Plan
from warpworld.eyes.plans.room_map import map_around, map_of_rooms
from warpworld.files import read_file, reason, replace_text

FORMAT = "warpworld plan 1"
KEYS = ("format", "name", "walls", "lights", "rooms")
MAP_KEYS = ("map", "resolution", "origin")


def write_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan as JSON; ``load_plan`` gives back the same one.

    Returns:
        ``path``.

    Raises:
        PlanError: it cannot be written.
    """
    rooms = {"resolution": plan.resolution, "origin": _numbers(plan.origin), "map": plan.rooms.tolist()}
    whole = {
        "format": FORMAT,
        "name": plan.name,
        "walls": [_numbers(wall) for wall in plan.walls.reshape(-1, 4)],
        "lights": [_numbers(light) for light in plan.lights],
    }
    parts = [f'"{key}": {_in_lines(value)}' for key, value in whole.items()]
    inner = [f'"{key}": {_in_lines(value)}' for key, value in rooms.items()]
    text = "{\n" + ",\n".join([*parts, '"rooms": {' + ",\n".join(inner) + "}"]) + "\n}\n"
    try:
        replace_text(Path(path), text)
    except OSError as error:
        raise PlanError(f"'{path}' cannot be written: {reason(error)}") from error
    return Path(path)


def _numbers(row: np.ndarray) -> list[float]:
    """Numbers of a row, as short as they can be written for float32."""
    return [float(str(value)) for value in row]


def _in_lines(value: Any) -> str:
    """JSON, a line for each entry of a list of lists."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in value) + "\n]"
    return json.dumps(value)


def load_plan(path: str | Path) -> Plan:
    """Read a plan from a JSON file.

    Raises:
        PlanError: it cannot be read, is not of the format, or is impossible.
    """
    try:
        return _plan(_read(Path(path)), Path(path).stem)
    except PlanError as error:
        raise PlanError(f"'{path}': {error}") from error


def _read(path: Path) -> Mapping[str, Any]:
    try:
        whole = json.loads(read_file(path))
    except OSError as error:
        raise PlanError(f"cannot be read: {reason(error)}") from error
    except json.JSONDecodeError as error:
        raise PlanError(f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise PlanError("is not JSON text") from error
    _check_keys("the file", whole, KEYS, required=("format", "walls", "rooms"))
    if whole["format"] != FORMAT:
        raise PlanError(f"format is {whole['format']!r:.80}, expected '{FORMAT}'")
    return dict(whole)


def _check_keys(what: str, given: Any, known: Sequence[str], required: Sequence[str]) -> None:
    if not isinstance(given, dict):
        raise PlanError(f"{what} is {_kind(given)}, expected an object with {', '.join(known)}")
    for key in given:
        if key not in known:
            raise PlanError(f"{what} has an unknown key '{key}'.{suggest(key, known)} Known: {', '.join(known)}")
    for key in required:
        if key not in given:
            raise PlanError(f"{what} has no '{key}'")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _plan(whole: Mapping[str, Any], name: str) -> Plan:
    walls = _table("walls", whole["walls"], ("x0", "y0", "x1", "y1")).reshape(-1, 2, 2)
    lights = _table("lights", whole.get("lights", []), ("x", "y", "intensity"))
    rooms = whole["rooms"]
    if isinstance(rooms, dict) and "outlines" in rooms:
        _check_keys("rooms", rooms, ("outlines",), required=())
        return Plan(whole.get("name", name), walls, lights, _from_outlines(rooms["outlines"], walls))
    _check_keys("rooms", rooms, (*MAP_KEYS, "outlines"), required=("map",))
    table = _table("rooms.map", rooms["map"], None)
    place = {"resolution": rooms.get("resolution", RESOLUTION), "origin": rooms.get("origin", [0.0, 0.0])}
    _table("rooms.origin", [place["origin"]], ("x", "y"))
    return Plan(whole.get("name", name), walls, lights, table, **place)


def _table(what: str, rows: Any, columns: Sequence[str] | None) -> np.ndarray:
    """A list of rows of numbers as (rows, columns) float64; without names of columns they are as long as the first."""
    if not isinstance(rows, list):
        raise PlanError(f"{what} is {_kind(rows)}, expected a list")
    length = len(columns) if columns else len(rows[0]) if rows and isinstance(rows[0], list) else 1
    for i, row in enumerate(rows):
        numbers = isinstance(row, list) and all(type(value) in (int, float) for value in row)
        if not numbers or len(row) != length:
            expected = f"[{', '.join(columns)}]" if columns else f"a list of {length} numbers, as the first"
            raise PlanError(f"{what}[{i}] is {json.dumps(row)[:60]}, expected {expected}")
    try:
        return np.array(rows, dtype=np.float64).reshape(len(rows), length)
    except OverflowError:
        raise PlanError(f"{what} holds a number that is too large") from None


def _from_outlines(outlines: Any, walls: np.ndarray) -> np.ndarray:
    if not isinstance(outlines, list):
        raise PlanError(f"rooms.outlines is {_kind(outlines)}, expected a list of rooms, each a list of corners [x, y]")
    corners = [_table(f"rooms.outlines[{i}]", outline, ("x", "y")) for i, outline in enumerate(outlines)]
    for i, outline in enumerate(corners):
        if len(outline) < 3 or not np.isfinite(outline).all():
            raise PlanError(f"rooms.outlines[{i}] has {len(outline)} corners, expected at least 3, of finite numbers")
    extent = walls.reshape(-1, 2)
    if not len(extent) or not (np.isfinite(extent).all() and extent.min() >= 0 and extent.max() <= FARTHEST):
        return np.ones((1, 1))  # the plan's own check tells what is wrong with its walls
    return map_of_rooms(corners, walls, map_around(walls))
