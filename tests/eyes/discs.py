"""Worlds of discs among walls, and what a step makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.eyes.arenas import RADIUS, stacked
from tests.toys import agents, environment
from warpworld import Array, World

SOURCE = Path(__file__).parent / "physics.cu"
STEPS_AT_A_TIME = 200
SECONDS = 0.1  # of a step


def disc_world(arenas: list[np.ndarray], num_agents: int, kernel: str = "move", **params: Any) -> World:
    """A sealed world with one env for each arena, whose step moves all discs."""
    walls, counts = stacked(arenas)
    known = {"radius": RADIUS, "restitution": 0.0, "seconds": SECONDS, "fastest": 100.0}
    constants = {"most_walls": walls.shape[1], "steps_at_a_time": STEPS_AT_A_TIME}
    arrays = [
        Array("position", "float32", (2,), initial=0.0),
        Array("velocity", "float32", (2,), initial=0.0),
        Array("touched", "bool", initial=False),
        Array("clearance", "float64", initial=0.0),
        Array("gap", "float64", initial=0.0),
        Array("first_stop", "float32", (2,), initial=0.0),
        Array("least_clearance", "float64", initial=np.inf),
        Array("least_gap", "float64", initial=np.inf),
        Array("most_energy", "float64", initial=-1.0),
        Array("touches", "int32", initial=0),
        Array("walls", "float32", walls.shape[1:], per="env", initial=walls, read_only=True, on_reset="keep"),
        Array("num_walls", "int32", per="env", initial=counts, read_only=True, on_reset="keep"),
    ]
    declared = environment(
        SOURCE,
        arrays,
        [agents(num_agents)],
        {**constants, **known, **params},
        phases=[kernel],
        resets=(),
        compile_time=tuple(constants),
    )
    world = World(declared, len(arenas), device="cpu")
    world.reset()
    return world


def moved(arenas: list[np.ndarray], position: Any, velocity: Any, **params: Any) -> dict[str, np.ndarray]:
    """What one step makes of discs at ``position`` (envs, agents, 2)."""
    world = disc_world(arenas, np.shape(position)[1], **params)
    world["position"][:] = torch.as_tensor(position)
    world["velocity"][:] = torch.as_tensor(velocity)
    world.step()
    return {
        name: world.data.numpy(name).copy() for name in ("position", "velocity", "touched", "clearance", "first_stop")
    }
