"""Many plans as the arrays that kernels read; envs share them by index."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from warpworld.environment import Array
from warpworld.errors import PlanError, suggest
from warpworld.eyes.plans.bake import floors, lit, num_nodes
from warpworld.eyes.plans.constants import CLEARANCE, RADIUS
from warpworld.eyes.plans.plan import Plan
from warpworld.eyes.plans.textures import stripes

TEXEL = 0.05  # metres
LARGEST_INDEX = 2**31 - 1

_DOCS = {
    "plan_walls": "x0 y0 x1 y1 of each wall, metres, ordered by plan",
    "plan_first_wall": "first wall of each plan, then the number of walls",
    "wall_first_texel": "first texel of each wall, then the number of texels",
    "wall_texels": "lit linear RGB: red in bits 0-10, green 11-21, blue 22-31, each a part of its largest value",
    "plan_lights": "x y, metres, intensity and 0 of each light, ordered by plan",
    "plan_first_light": "first light of each plan, then the number of lights",
    "plan_floor": "first node of each plan's floor, columns and rows of nodes, and nodes a metre",
    "floor_light": "light on agents there: at each node of a grid over each plan, row by row; 255 is 1",
    "plan_cells": "middles of the cells to spawn in, metres, ordered by plan and room",
    "plan_first_room": "first room of each plan, then the number of rooms",
    "room_first_cell": "first cell of each room, then the number of cells",
}


class PlanSet:
    """Plans packed for kernels, with light on their walls and floors.

    Each array that ``arrays()`` declares is of the whole world and read-only; an env has the number of its plan in an
    array of its own.

    ==================  =======  ============  ===================================================================
    array               dtype    shape         holds
    ==================  =======  ============  ===================================================================
    plan_walls          float32  (walls, 4)    x0 y0 x1 y1, metres, ordered by plan
    plan_first_wall     int32    (plans + 1,)  plan p has the walls from ``[p]`` to before ``[p + 1]``
    wall_first_texel    int32    (walls + 1,)  of ceil(length / texel) texels each
    wall_texels         uint32   (texels,)     lit linear RGB: red in bits 0-10, green 11-21, blue 22-31, each divided
                                               by the largest value of its bits; the middle of texel i of w lies at
                                               (i + 0.5) / w from the wall's first end to its second
    plan_lights         float32  (lights, 4)   x y, metres, intensity, 0; one row of zeros where there is no light
    plan_first_light    int32    (plans + 1,)  as for walls
    plan_floor          int32    (plans, 4)    of the grid over each plan: first node, columns, rows, nodes a metre
    floor_light         uint8    (nodes,)      light on agents there, 255 is 1; row by row, the lowest first:
                                               node (0, 0) is at (0, 0)
    plan_cells          float32  (cells, 2)    x y, metres: middles of spawn cells, ordered by plan and room
    plan_first_room     int32    (plans + 1,)  rooms with a spawn cell; others are left out
    room_first_cell     int32    (rooms + 1,)  as for walls; no room is empty
    ==================  =======  ============  ===================================================================

    In a spawn cell a disc of ``radius``, centred anywhere in the cell, is 1 cm clear of every wall.

    Attributes:
        plans: the plans, in order.
        radius: metres.
        texel: metres, the longest that a texel may be.
        most_walls: of the plan with most of them.
        most_texels: of all walls of a plan, likewise.
        bounds: (low x, low y, high x, high y) of all walls, metres.
        nbytes: size of all arrays.

    Args:
        plans: at least one.
        radius: of the disc that spawns, metres.
        texel: metres.
        seed: of the walls' stripes, which also depend on the plan's number.
        device: of the world that lights the walls, as a World's.

    Raises:
        PlanError: no plan; one where the disc fits nowhere; more texels, nodes, walls or cells than an int can count.
    """

    def __init__(
        self, plans: Sequence[Plan], radius: float = RADIUS, texel: float = TEXEL, seed: int = 0, device: str = "cpu"
    ) -> None:
        _check(plans, radius, texel, seed)
        self.plans, self.radius, self.texel = tuple(plans), float(radius), float(texel)
        # walls and lights of all plans
        walls = np.concatenate([plan.walls.reshape(-1, 4) for plan in self.plans])
        counts = np.array([len(plan.walls) for plan in self.plans])
        self.most_walls = int(counts.max())
        self.bounds: tuple[float, ...] = (*walls.reshape(-1, 2).min(0).tolist(), *walls.reshape(-1, 2).max(0).tolist())
        lights = np.concatenate([np.pad(plan.lights, ((0, 0), (0, 1))) for plan in self.plans])
        # arrays of shapes
        shapes = {
            "plan_walls": walls,
            "plan_first_wall": _firsts(counts, "walls"),
            "wall_first_texel": _firsts(_texels_of(walls, self.texel), "texels; choose a larger texel"),
            "plan_lights": lights if len(lights) else np.zeros((1, 4), np.float32),
            "plan_first_light": _firsts([len(plan.lights) for plan in self.plans], "lights"),
            "plan_floor": _floors(self.plans),
        }
        # light on the walls, and cells to spawn in
        per_plan = np.diff(shapes["wall_first_texel"][shapes["plan_first_wall"]])
        pattern = np.concatenate([stripes(seed, i, int(n), self.texel) for i, n in enumerate(per_plan)])
        self.most_texels = int(per_plan.max())
        self._arrays = {**shapes, **lit(shapes, pattern, device), **_spawn_cells(self.plans, self.radius)}

    def arrays(self) -> list[Array]:
        """Declarations with their contents, for an Environment's ``arrays()``."""
        return [
            Array(name, str(values.dtype), values.shape, per="world", initial=values, read_only=True, doc=_DOCS[name])
            for name, values in self._arrays.items()
        ]

    def __getitem__(self, name: str) -> np.ndarray:
        """One of the arrays, by name.

        Raises:
            PlanError: there is none of that name.
        """
        if name not in self._arrays:
            hint = suggest(name, self._arrays)
            raise PlanError(f"a PlanSet has no array '{name}'.{hint} It has: {', '.join(self._arrays)}")
        return self._arrays[name]

    def __len__(self) -> int:
        return len(self.plans)

    @property
    def num_plans(self) -> int:
        """Number of plans."""
        return len(self.plans)

    @property
    def nbytes(self) -> int:
        """Size of all arrays."""
        return sum(values.nbytes for values in self._arrays.values())


def _check(plans: Sequence[Plan], radius: float, texel: float, seed: int) -> None:
    if not plans or not all(isinstance(plan, Plan) for plan in plans):
        raise PlanError(f"a PlanSet is made of at least one Plan, not of {plans!r:.80}")
    for name, value in (("radius", radius), ("texel", texel)):
        if not (isinstance(value, (int, float)) and math.isfinite(value) and value > 0):
            raise PlanError(f"{name}={value!r}: expected metres, a number above 0")
    if not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
        raise PlanError(f"seed={seed!r}: expected a whole number of at least 0")


def _texels_of(walls: np.ndarray, texel: float) -> np.ndarray:
    """Texels of each wall: as few as are no longer than ``texel``, but for a thousandth."""
    ends = walls.astype(np.float64)
    lengths = np.hypot(ends[:, 2] - ends[:, 0], ends[:, 3] - ends[:, 1])
    return np.maximum(np.ceil(lengths / texel - 1e-3), 1).astype(np.int64)


def _firsts(counts: Sequence[int] | np.ndarray, what: str) -> np.ndarray:
    """Start of each part, and the end of the last: (counts + 1,) int32."""
    firsts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if firsts[-1] > LARGEST_INDEX:
        raise PlanError(f"{firsts[-1]:,} are more than the {LARGEST_INDEX:,} that an index can count: {what}")
    return firsts.astype(np.int32)


def _floors(plans: Sequence[Plan]) -> np.ndarray:
    grids = floors([plan.walls for plan in plans])
    _firsts([num_nodes(grids)], "nodes of floors; take fewer plans")
    return grids.astype(np.int32)


def _spawn_cells(plans: Sequence[Plan], radius: float) -> dict[str, np.ndarray]:
    """``plan_cells``, ``plan_first_room`` and ``room_first_cell``."""
    centres, rooms, sizes = [], [], []
    for plan in plans:
        cells = np.argwhere(plan.cells_clear_of_walls(radius + CLEARANCE))
        if not len(cells):
            raise PlanError(
                f"plan '{plan.name}': no room to spawn: nowhere in its rooms is a cell in which a disc of radius "
                f"{radius:g} m is {CLEARANCE:g} m clear of all walls; give it larger rooms, or a smaller radius"
            )
        room = plan.rooms[tuple(cells.T)]
        order = np.argsort(room, kind="stable")
        centres.append(plan.centres(cells[order]))
        counts = np.unique(room, return_counts=True)[1]
        rooms.append(len(counts))
        sizes.append(counts)
    return {
        "plan_cells": np.concatenate(centres).astype(np.float32),
        "plan_first_room": _firsts(rooms, "rooms"),
        "room_first_cell": _firsts(np.concatenate(sizes), "spawn cells"),
    }
