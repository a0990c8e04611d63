"""Checks that a plan is possible, with errors that give the numbers and places of walls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpworld.errors import PlanError
from warpworld.eyes.plans.constants import MAX_WALLS
from warpworld.eyes.plans.geometry import TOLERANCE, Steps, cells_near, crossings

if TYPE_CHECKING:
    from warpworld.eyes.plans.plan import Plan

FARTHEST = 250.0  # metres, of coordinates; there float32 is exact to a fiftieth of a millimetre
RESOLUTIONS = (0.05, 5.0)  # metres
LIGHT_CLEARANCE = 0.01  # metres from every wall


def check_plan(plan: Plan) -> None:
    """Refuse an impossible plan.

    Raises:
        PlanError: what is wrong, with numbers and coordinates.
    """
    _check_grid(plan)
    _check_numbers(plan)
    _check_walls(plan)
    _check_lights(plan)
    _check_rooms(plan)


def wall_text(plan: Plan, i: int) -> str:
    """A wall as messages name it: ``wall 3 (1.00, 2.00)-(4.00, 2.00)``."""
    (x0, y0), (x1, y1) = plan.walls[i].tolist()
    return f"wall {i} ({x0:.2f}, {y0:.2f})-({x1:.2f}, {y1:.2f})"


def _check_grid(plan: Plan) -> None:
    where = f"plan '{plan.name}'"
    if not isinstance(plan.name, str) or not plan.name.strip():
        raise PlanError(f"a plan's name is {plan.name!r}, expected some text")
    if not (isinstance(plan.resolution, (int, float)) and RESOLUTIONS[0] <= plan.resolution <= RESOLUTIONS[1]):
        raise PlanError(f"{where}: resolution={plan.resolution!r}, expected 0.05 to 5 metres, such as 0.2")
    if not (np.isfinite(plan.origin).all() and (plan.origin >= 0).all()):
        raise PlanError(f"{where}: origin={tuple(plan.origin.tolist())}, expected two finite numbers of at least 0")


def _check_numbers(plan: Plan) -> None:
    if not 1 <= len(plan.walls) <= MAX_WALLS:
        raise PlanError(
            f"plan '{plan.name}': {len(plan.walls)} walls, expected 1 to {MAX_WALLS}, which is what a kernel has room "
            "for; join walls that continue in one line, or divide the plan"
        )
    for kind, rows, places in (("wall", plan.walls.reshape(-1, 4), 4), ("light", plan.lights, 2)):
        finite = np.isfinite(rows).all(1)
        inside = ((rows[:, :places] >= 0) & (rows[:, :places] <= FARTHEST)).all(1)
        for fine, expected in ((finite, "finite numbers"), (inside, f"coordinates of 0 to {FARTHEST:.0f} metres")):
            if not fine.all():
                i = int(np.flatnonzero(~fine)[0])
                numbers = ", ".join(f"{value:g}" for value in rows[i].tolist())
                raise PlanError(f"plan '{plan.name}': {kind} {i} is ({numbers}), expected {expected}")
    dark = np.flatnonzero(plan.lights[:, 2] <= 0)
    if len(dark):
        i = int(dark[0])
        raise PlanError(f"plan '{plan.name}': light {i} has intensity {plan.lights[i, 2]:g}, expected more than 0")


def _check_walls(plan: Plan) -> None:
    walls = plan.walls.astype(np.float64)
    short = np.flatnonzero(np.linalg.norm(walls[:, 1] - walls[:, 0], axis=1) <= 2 * TOLERANCE)
    if len(short):
        raise PlanError(f"plan '{plan.name}': {wall_text(plan, int(short[0]))} has no length; leave it out")
    for pairs, what in zip(crossings(walls), ("cross", "lie on each other"), strict=True):
        if len(pairs):
            first, second = (wall_text(plan, int(i)) for i in pairs[0])
            others = f", and {len(pairs) - 1} more pairs do" if len(pairs) > 1 else ""
            mend = "cut both where they meet" if what == "cross" else "leave out what they share"
            raise PlanError(f"plan '{plan.name}': {first} and {second} {what}{others}; {mend}")


def _check_lights(plan: Plan) -> None:
    walls, grid = plan.walls.astype(np.float64), plan.grid
    distances = _distances(walls, plan.lights[:, :2].astype(np.float64))
    for i, (x, y, _) in enumerate(plan.lights.tolist()):
        text = f"plan '{plan.name}': light {i} at ({x:.2f}, {y:.2f})"
        nearest = int(distances[i].argmin())
        if distances[i, nearest] < LIGHT_CLEARANCE:
            expected = f"expected at least {100 * LIGHT_CLEARANCE:.0f} cm between them"
            raise PlanError(f"{text} touches {wall_text(plan, nearest)}, {expected}")
        row, column = int((y - grid.y) // grid.resolution), int((x - grid.x) // grid.resolution)
        if not (0 <= row < grid.rows and 0 <= column < grid.columns):
            raise PlanError(f"{text} is outside the map of rooms, which spans {_corner_text(plan)}")
        if plan.rooms[row, column] < 0 and not _sees_free_cell(plan, walls, np.array([x, y]), row, column):
            raise PlanError(f"{text} is in a wall: it sees no free cell of the map of rooms near it; move it")


def _distances(walls: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Distances of points (points, 2) from walls: (points, walls), in the units of the plan."""
    start, along = walls[:, 0], walls[:, 1] - walls[:, 0]
    to = points[:, None] - start
    at = np.clip((to * along).sum(-1) / (along * along).sum(-1), 0.0, 1.0)
    offset = to - at[..., None] * along
    return np.hypot(offset[..., 0], offset[..., 1])


def _corner_text(plan: Plan) -> str:
    grid = plan.grid
    right, top = grid.x + grid.columns * grid.resolution, grid.y + grid.rows * grid.resolution
    return f"({grid.x:.2f}, {grid.y:.2f}) to ({right:.2f}, {top:.2f})"


def _sees_free_cell(plan: Plan, walls: np.ndarray, light: np.ndarray, row: int, column: int) -> bool:
    """Whether a straight way leads from the light to the middle of a free cell at most two cells away."""
    low = np.maximum((row - 2, column - 2), 0)
    near = np.argwhere(plan.rooms[low[0] : row + 3, low[1] : column + 3] >= 0) + low
    for centre in plan.centres(near):
        to, start, end = centre - light, walls[:, 0] - light, walls[:, 1] - light
        along = end - start
        sides = (to[0] * start[:, 1] - to[1] * start[:, 0]) * (to[0] * end[:, 1] - to[1] * end[:, 0])
        own = along[:, 1] * start[:, 0] - along[:, 0] * start[:, 1]
        other = along[:, 1] * (start[:, 0] - to[0]) - along[:, 0] * (start[:, 1] - to[1])
        if not ((sides <= 0) & (own * other <= 0)).any():
            return True
    return False


def _check_rooms(plan: Plan) -> None:
    # rooms to spawn in
    if not (plan.rooms > 0).any():
        raise PlanError(
            f"plan '{plan.name}': no room to spawn in: no cell of the map of rooms has a number of 1 or more"
        )
    # rooms that no way leads into from outside
    walls, grid = plan.walls.astype(np.float64), plan.grid.padded()
    ring = np.pad(np.zeros(plan.rooms.shape, dtype=bool), 1, constant_values=True)
    outdoors = Steps(walls, grid).reached_from(ring)[1:-1, 1:-1]
    wrong = np.argwhere(outdoors & (plan.rooms > 0) & ~cells_near(walls, plan.grid, TOLERANCE))
    if len(wrong):
        (x, y), room = plan.centres(wrong[:1])[0], plan.rooms[tuple(wrong[0])]
        raise PlanError(
            f"plan '{plan.name}': a way leads from outside to ({x:.2f}, {y:.2f}) in room {room}: agents there could "
            "leave the plan; close the outer wall, or mark what lies outside it as 0 in the map of rooms"
        )
