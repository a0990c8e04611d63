"""Cameras that write what they show as float16."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.toys import agents, environment
from warpworld import Array, Kernel, World
from warpworld.eyes.plans import PlanSet, homes

ENVS, AGENTS, PIXELS = 12, 3, 24
SHAPES = {"rgb": (3, PIXELS), "depth": (1, PIXELS), "others": (1, PIXELS)}


def test_halves_are_the_nearest_to_what_floats_show() -> None:
    plans = PlanSet(homes(3, 4, (2, 4)), seed=1)
    constants = {"res": 4 * PIXELS, "subsample": 4, "pixels": PIXELS, "most_walls": plans.most_walls}
    draws = np.random.default_rng(0)
    plan = np.arange(ENVS) % 4
    packed = {array.name: np.asarray(array.initial) for array in plans.arrays()}
    first_cells = packed["room_first_cell"][packed["plan_first_room"]]
    rooms = [packed["plan_cells"][first : first + 9] for first in first_cells]  # the same room, or the next one
    positions = np.array([draws.permutation(rooms[i])[:AGENTS] for i in plan])
    arrays = [
        *plans.arrays(),
        Array("plan", "int32", per="env", initial=plan, on_reset="keep"),
        Array("positions", "float32", (2,), initial=positions, on_reset="keep"),
        Array("angles", "float32", initial=draws.uniform(-180, 180, (ENVS, AGENTS)), on_reset="keep"),
        *(Array(name, "float32", shape) for name, shape in SHAPES.items()),
        *(Array(f"half_{name}", "float16", shape) for name, shape in SHAPES.items()),
    ]
    declared = environment(
        Path(__file__).parent / "half_pixels.cu",
        arrays,
        [agents(AGENTS)],
        {**constants, "tan_half_fov": 1.0},
        phases=[Kernel("see", threads_per_env=(1, 128))],
        resets=(),
        compile_time=tuple(constants),
    )
    world = World(declared, ENVS)
    world.reset()
    world.step()
    for name in SHAPES:
        shown = world[name].cpu().numpy()
        assert np.ptp(shown) > 0.3
        assert np.array_equal(world[f"half_{name}"].cpu().numpy(), shown.astype(np.float16))
