"""The cost of boxes and discs beside that of walls, for a lidar and for a camera of 64 rays each.

``python -m benchmarks.boxes [--envs N]`` prints a table: nanoseconds of a look among 4 things of a kind and among 36,
and what each of the 32 more adds. A wall of the lidar is a rectangle, of the camera a line. All is run on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld import Array, Environment, Group, Kernel, World
from warpworld.environment import Phase

from .clock import measure

RAYS, FEW, MANY, SIDE = 64, 4, 36, 20.0
KINDS = {"lidar": ("walls", "boxes", "discs"), "camera": ("walls", "boxes")}


class Things(Environment):
    """One agent in the middle of a square of 20 m, among things at random places."""

    source = Path(__file__).parent / "boxes.cu"
    compile_time = ("bodies", "walls", "still", "lines", "boxes", "rays")

    @dataclass(frozen=True)
    class Params:
        """How many things of each kind there are."""

        kernel: str = "lidar"
        bodies: int = 1  # with the agent
        walls: int = 1  # places for walls and boxes
        still: int = 0  # rectangles of the lidar
        lines: int = 0  # of the camera
        boxes: int = 0  # of the camera
        rays: int = RAYS
        discs: bool = False  # bodies are discs

    def groups(self) -> Sequence[Group]:
        """The agent that looks."""
        return [Group("agent", 1, Box(0.0, 1.0, (1,)), Discrete(1))]

    def arrays(self) -> Sequence[Array]:
        """Things, the same in all envs, and what the rays measure."""
        random, p = np.random.default_rng(0), self.params
        at, half = random.uniform(1, SIDE - 1, (p.walls, 2)), random.uniform(0.1, 0.5, (p.walls, 2))
        others, turns = p.bodies - 1, 2 * np.pi * np.arange(RAYS) / RAYS
        shape = [[0.15, 0.0], *(half[:others] * ([1, 0] if p.discs else [1, 1]))]
        return [
            _given("position", [[SIDE / 2, SIDE / 2], *at[:others]], "env"),
            _given("shape", shape, "world"),
            _given("rectangles", np.concatenate([at, half], 1), "env"),
            _given("lines", np.concatenate([at - half, at + half], 1), "env"),
            _given("rays", np.stack([np.cos(turns), np.sin(turns)], 1), "world"),
            Array("distance", "float32", (RAYS,), per="env", initial=0.0),
        ]

    def phases(self) -> Sequence[Phase | Kernel]:
        """One look."""
        return [Kernel(self.params.kernel, threads_per_env=(1, RAYS))]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Nothing."""
        return []


def _given(name: str, values: object, per: str) -> Array:
    initial = np.asarray(values, np.float32)
    return Array(name, "float32", initial.shape, per=per, initial=initial, on_reset="keep")  # type: ignore[arg-type]


def things(kernel: str, kind: str, count: int) -> Things:
    """The environment in which one kernel looks at ``count`` things of a kind."""
    if kind == "walls":
        return Things(kernel=kernel, walls=count, still=count, lines=count)
    bodies = 1 + count if kernel == "lidar" else 1
    return Things(kernel=kernel, bodies=bodies, walls=count, boxes=count, discs=kind == "discs")


def nanoseconds(kernel: str, kind: str, count: int, envs: int, seconds: float = 0.2) -> float:
    """The time of one env's look, the best of several windows."""
    with World(things(kernel, kind, count), envs, "cpu", num_workers=1) as world:
        world.reset()
        return measure(world.step, seconds=seconds).best * 1e9 / envs


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=0.2)
    given = parser.parse_args(arguments)
    print(f"ns of a look of {RAYS} rays   {FEW} things  {MANY} things  each thing")
    for kernel, kinds in KINDS.items():
        for kind in kinds:
            few, many = (nanoseconds(kernel, kind, count, given.envs, given.seconds) for count in (FEW, MANY))
            each = (many - few) / (MANY - FEW)
            print(f"{kernel:<7} {kind:<15} {few:14,.0f} {many:10,.0f} {each:11,.0f}")


if __name__ == "__main__":
    main()
