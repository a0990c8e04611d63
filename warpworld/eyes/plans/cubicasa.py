"""Plans from a CubiCasa5k folder that the user has; the data set's licence forbids shipping any of it.

Source of the format: Kalervo, Ylioinas, Häikiö, Karhu, Kannala: "CubiCasa5K: a dataset and an improved multi-task model
for floorplan image analysis" (SCIA 2019) and its published loader. ``model.svg`` has a group of ``id="Wall"`` for each
wall, with ``id="Door"`` for each door within it, and of class "Space <kind>" for each room; the outline of each is the
first ``polygon`` in the group, in pixels, y down. A pixel counts as a centimetre: the files do not tell the scale.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from warpworld.errors import PlanError
from warpworld.eyes.plans.geometry import Grid, cells_near
from warpworld.eyes.plans.plan import Plan
from warpworld.eyes.plans.polygons import grown, slab_outlines
from warpworld.eyes.plans.room_map import MARGIN, connected_rooms, contains, map_around, map_of_rooms
from warpworld.files import read_file, reason

PIXELS_PER_METRE = 100
OUTDOORS = "Outdoor"  # a kind of space: balconies, terraces
WALL_GROWTH = 0.01  # metres, so that walls that were drawn a little apart touch
DOOR_GROWTH = 0.05  # metres, so that nothing of the wall is left in a door
DOOR_SURROUNDINGS = 0.25  # metres, where it is asked which rooms a door joins
MOST_OUTDOORS = 0.2  # of what surrounds a door between rooms
LIGHT_CLEARANCE = 0.1  # metres


@dataclass
class Drawing:
    """The polygons of a ``model.svg``, each (corners, 2) metres, y up."""

    walls: list[np.ndarray] = field(default_factory=list)
    doors: list[np.ndarray] = field(default_factory=list)
    rooms: list[np.ndarray] = field(default_factory=list)


def load_cubicasa(folder: str | Path, seed: int = 0) -> Plan:
    """Read a plan of the CubiCasa5k data set.

    Doors between rooms are open, those that lead outside and all windows are walls. Of rooms, those are kept that can
    be reached from each other; where they are apart, the larger part. Lights are in the middles of rooms.

    Args:
        folder: one that holds a ``model.svg``, or that file.
        seed: of the lights' intensities.

    Raises:
        PlanError: it cannot be read, holds no such drawing, or makes an impossible plan.
    """
    path = Path(folder)
    path = path / "model.svg" if path.is_dir() else path
    name = path.parent.name if path.name == "model.svg" else path.stem
    try:
        return _plan(_placed(_read(path)), name or "model", seed)
    except PlanError as error:
        raise PlanError(f"'{path}': {error}") from error


# ---- reading ---------------------------------------------------------------------------------------------------------
def _read(path: Path) -> Drawing:
    # the SVG tree
    try:
        root = ElementTree.fromstring(read_file(path))
    except OSError as error:
        raise PlanError(f"cannot be read: {reason(error)}") from error
    except (ElementTree.ParseError, UnicodeDecodeError, LookupError) as error:
        raise PlanError(f"is not SVG: {error}") from error
    # outlines, by the kind of their group
    drawing = Drawing()
    for group in root.iter():
        kinds = group.get("class", "").split()
        if group.get("id") == "Wall":
            drawing.walls += _outline(group)
        elif group.get("id") == "Door":
            drawing.doors += _outline(group)
        elif kinds[:1] == ["Space"] and OUTDOORS not in kinds:
            drawing.rooms += _outline(group)
    # outlines that every plan needs
    for what, found, mark in (("walls", drawing.walls, 'id="Wall"'), ("rooms", drawing.rooms, 'class="Space ..."')):
        if not found:
            raise PlanError(f"has no {what}: no group with {mark} holds a polygon, as in CubiCasa5k's model.svg")
    return drawing


def _outline(group: ElementTree.Element) -> Iterator[np.ndarray]:
    """The first polygon right in a group, if there is one that has an area."""
    for child in group:
        if child.tag.rpartition("}")[2] != "polygon":
            continue
        if group.get("transform") or child.get("transform"):
            raise PlanError("a wall, door or room has a `transform`, which is not read; apply it to the polygons")
        text = child.get("points", "")
        numbers = re.findall(r"[^\s,]+", text)
        try:
            corners = np.array([float(number) for number in numbers]).reshape(-1, 2)
        except ValueError:
            raise PlanError(f"a polygon has points '{text[:60]}', expected pairs of numbers") from None
        if not np.isfinite(corners).all():
            raise PlanError(f"a polygon has points '{text[:60]}', expected finite numbers")
        if len(corners) >= 3:
            yield corners
        return


def _placed(drawing: Drawing) -> Drawing:
    """Convert a drawing to metres, y up, a margin away from the axes."""
    pixels = np.concatenate(drawing.walls)
    left, bottom = pixels[:, 0].min(), pixels[:, 1].max()

    def place(polygon: np.ndarray) -> np.ndarray:
        return (polygon - (left, bottom)) * (1, -1) / PIXELS_PER_METRE + MARGIN + WALL_GROWTH

    return Drawing(*([place(polygon) for polygon in some] for some in (drawing.walls, drawing.doors, drawing.rooms)))


# ---- the plan --------------------------------------------------------------------------------------------------------
def _plan(drawing: Drawing, name: str, seed: int) -> Plan:
    solid = [grown(wall, WALL_GROWTH) for wall in drawing.walls]
    openings = [grown(door, DOOR_GROWTH) for door in drawing.doors if _joins_rooms(door, solid, drawing.rooms)]
    walls = slab_outlines(solid, openings)
    grid = map_around(walls)
    rooms = connected_rooms(map_of_rooms(drawing.rooms, walls, grid), walls, grid)
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return Plan(name, walls, _lights(rooms, walls, grid, random), rooms)


def _joins_rooms(door: np.ndarray, solid: list[np.ndarray], rooms: list[np.ndarray]) -> bool:
    """Whether what surrounds a door is, but for walls, inside, and of more than one room."""
    around = grown(door, DOOR_SURROUNDINGS)
    sides = [np.linspace(low, high, 25) for low, high in zip(around.min(0), around.max(0), strict=True)]
    points = np.stack(np.meshgrid(*sides), -1).reshape(-1, 2)
    points = points[contains(around, points)]
    points = points[~np.any([contains(wall, points) for wall in solid], axis=0)]
    if not len(points):
        return False
    inside = np.array([contains(room, points) for room in rooms])
    return bool(inside.any(1).sum() >= 2 and (~inside.any(0)).mean() <= MOST_OUTDOORS)


def _lights(rooms: np.ndarray, walls: np.ndarray, grid: Grid, random: np.random.Generator) -> np.ndarray:
    """A light in the cell of each room that is nearest to its middle and clear of walls, (rooms, 3)."""
    clear = ~cells_near(walls, grid, LIGHT_CLEARANCE)
    lights = []
    for room in range(1, int(rooms.max()) + 1):
        own = np.argwhere((rooms == room) & clear)
        if len(own):
            middle = np.argwhere(rooms == room).mean(0)
            row, column = own[((own - middle) ** 2).sum(1).argmin()]
            place = grid.x + (column + 0.5) * grid.resolution, grid.y + (row + 0.5) * grid.resolution
            lights.append((*place, random.uniform(0.5, 2.0)))
    return np.array(lights).reshape(-1, 3)
