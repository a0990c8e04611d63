"""Shortest ways through many plans to places in them, found when plans are made, for kernels that include ways.cuh."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warpworld.environment import Array
from warpworld.errors import PlanError
from warpworld.eyes.plans.once import OfPlans, run_once
from warpworld.eyes.plans.plan_set import LARGEST_INDEX, PlanSet

WAY_CELL = 0.2  # metres, as in ways.cuh
WAY_UNIT = 0.002  # metres, of a number of a field
NO_WAY = 65535  # in a field

_DOCS = {
    "plan_ways": "first number of each plan's fields, columns and rows of its cells of 0.2 m, and their product",
    "way_places": "places that fields lead to, metres, as many in each plan",
    "way_fields": "of each plan and place, row by row: 2 mm each of the shortest way to the place; 65535 is none",
}


class FindWays(OfPlans):
    """Writes ``way_metres``.

    Args:
        inputs: the arrays that ``ways.cu`` reads.
        num_places: of each plan.
    """

    source = "ways.cu"
    compile_time = ("num_places",)
    kernels = ("clear_cells", "spread_ways")

    @dataclass(frozen=True)
    class Params:
        """Parameters of the kernels."""

        num_places: int = 1

    def arrays(self) -> Sequence[Array]:
        """Arrays that the kernels read, the open cells, and the ways."""
        first, _, _, cells = self.inputs["plan_ways"][-1].tolist()
        numbers = first + self.params.num_places * cells
        return [
            *super().arrays(),
            Array("open_cells", "uint8", (numbers // self.params.num_places,), per="world", initial=0),
            Array("way_metres", "float32", (numbers,), per="world", initial=0.0),
        ]


@functools.lru_cache(maxsize=4)
def find_ways(plans: PlanSet, num_places: int, seed: int, device: str = "cpu") -> dict[str, np.ndarray]:
    """Find the shortest ways to places that are drawn in each plan.

    A way keeps 0.12 m clear of walls, but for its two ends. It is longer than the shortest by a few per cent, since it
    leads through a grid of 0.2 m.

    Args:
        plans: of the world.
        num_places: of each plan, drawn uniformly from where an agent can be.
        seed: of the places, which also depend on the plan's number.
        device: of the world that finds them, as a World's.

    Returns:
        ``plan_ways`` (plans, 4) int32: of each plan the first number of its fields, columns, rows and cells;
        ``way_places`` (plans * num_places, 2) float32, metres; ``way_fields`` uint16, for each plan and place the cells
        row by row, the lowest first: 2 mm each of the way from the middle of a cell, 65535 where there is none.

    Raises:
        PlanError: the fields have more numbers than an int can count.
    """
    grids = _grids(plans, num_places)
    places = np.concatenate([_places(plans, plan, num_places, seed) for plan in range(len(plans))])
    inputs = {name: plans[name] for name in ("plan_walls", "plan_first_wall")}
    inputs |= {"plan_ways": grids, "way_places": places}
    metres = run_once(FindWays(inputs, num_places=num_places), len(plans), "way_metres", device)
    fields = np.minimum(np.rint(metres / WAY_UNIT), NO_WAY).astype(np.uint16)
    return {"plan_ways": grids, "way_places": places, "way_fields": fields}


def way_arrays(found: Mapping[str, np.ndarray]) -> list[Array]:
    """Declarations of what ``find_ways`` found, for an Environment's ``arrays()``."""
    return [
        Array(name, str(values.dtype), values.shape, per="world", initial=values, read_only=True, doc=_DOCS[name])
        for name, values in found.items()
    ]


def _grids(plans: PlanSet, num_places: int) -> np.ndarray:
    """``plan_ways``: grids go from (0, 0) to beyond the last wall."""
    farthest = np.stack([plan.walls.reshape(-1, 2).max(0).astype(np.float64) for plan in plans.plans])
    sizes = np.ceil(farthest / WAY_CELL).astype(np.int64) + 1
    cells = sizes.prod(1)
    ends = (num_places * cells).cumsum()
    if ends[-1] > LARGEST_INDEX:
        raise PlanError(f"{ends[-1]:,} numbers of ways are more than an index can count; take fewer plans")
    return np.stack([ends - num_places * cells, *sizes.T, cells], axis=1).astype(np.int32)


def _places(plans: PlanSet, plan: int, num_places: int, seed: int) -> np.ndarray:
    """Places of one plan (num_places, 2), each anywhere in a cell in which agents start."""
    random = np.random.default_rng([seed, plan, num_places])
    first, end = plans["room_first_cell"][plans["plan_first_room"][plan : plan + 2]]
    middles = plans["plan_cells"][random.integers(first, end, num_places)]
    return (middles + WAY_CELL * random.uniform(-0.5, 0.5, middles.shape)).astype(np.float32)
