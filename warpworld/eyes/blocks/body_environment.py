"""Environments of bodies that push, hold and lock each other, in Python alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, MultiDiscrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Segments
from warpworld.environment import Array, Environment, Kernel, Phase, Range, placed_groups
from warpworld.eyes.blocks.body import NOTHING, Body, Wall, check_bodies, check_places

OWN, ABOUT_BODY, ABOUT_RAY = 5, 8, 2  # numbers in an observation, as in bodies.cu
LONGEST = 100.0  # metres: beyond, rounding is larger than the distance that bodies keep


@dataclass(frozen=True)
class BodyParams:
    """Parameters of an environment of bodies."""

    width: Annotated[float, Range(above=0, high=LONGEST)] = 6.0  # of the arena, metres
    height: Annotated[float, Range(above=0, high=LONGEST)] = 6.0  # of the arena, metres
    spread: Annotated[float, Range(0, LONGEST)] = 0.0  # metres that bodies start off their place, at most
    push: Annotated[float, Range(above=0)] = 20.0  # newtons, of an agent along x or y
    reach: Annotated[float, Range(above=0)] = 0.2  # metres from an agent to a body that it can hold or lock
    joint_length: Annotated[float, Range(above=0)] = 0.5  # metres, beyond which a hold breaks
    joint_force: Annotated[float, Range(above=0)] = 60.0  # newtons, beyond which a hold breaks
    restitution: Annotated[float, Range(0, 1)] = 0.0  # 0: bodies that meet stay together; 1: no energy is lost
    fps: Annotated[float, Range(1, 1000)] = 10.0  # steps a second
    substeps: Annotated[int, Range(1, 64)] = 2  # parts of a step
    lidar_rays: Annotated[int, Range(0, 360)] = 0  # of each agent, all round
    episode_length: Annotated[int, Range(1, 2**31 - 1)] = 100  # steps until the time limit

    def __post_init__(self) -> None:
        Range(above=0, high=self.joint_length).check("reach", self.reach, ", the joint_length")


class BodyEnvironment(Environment):
    """An environment of discs and boxes in an arena, where agents push, hold and lock: you need not write CUDA.

    A subclass gives its agents in ``groups()``, with ``observation()`` and ``action()``; all ``bodies``, those of the
    agents first; and in ``rules()`` what is rewarded. The agents of a group are a team: what one of them locks, only
    they unlock. A step moves the bodies, runs the rules, and lets agents sense; a new episode puts bodies where they
    start, runs ``first_rules()``, and lets agents sense. Rules read and write ``position`` and ``velocity`` (envs,
    bodies, 2), ``held`` and ``locked`` (envs, bodies).

    Attributes:
        bodies: with the agents' own, which come first, in their order.
        walls: x, y, half the width and half the height of each, metres.
    """

    source = "bodies.cu"
    compile_time = ("lidar_rays",)
    bodies: ClassVar[Sequence[Body]] = ()
    walls: ClassVar[Sequence[Wall]] = ()

    @dataclass(frozen=True)
    class Params(BodyParams):
        """Parameters of the arena and its bodies."""

    def __init__(self, **params: Any) -> None:
        """Check the parameters, and that all bodies fit."""
        super().__init__(**params)
        check_bodies(self.name, self.bodies, self._agents)
        check_places(self.name, self.bodies, self.walls, (self.params.width, self.params.height), self.params.spread)

    # ---- what agents see and do --------------------------------------------------------------------------------------
    def observation(self) -> Box:
        """Itself, 5 numbers: place, velocity, whether it holds; 8 of each other body; 2 of each ray of the lidar."""
        size = OWN + ABOUT_BODY * (len(self.bodies) - 1) + ABOUT_RAY * self.params.lidar_rays
        return Box(-np.inf, np.inf, (size,))

    def action(self) -> MultiDiscrete:
        """Push left, none or right; push down, none or up; let go or hold; nothing, lock or unlock what is nearest."""
        return MultiDiscrete([3, 3, 2, 3])

    def arrays(self) -> Sequence[Array]:
        """Arrays of all bodies, of walls, and of what agents need to sense and lock."""
        count, teams = len(self.bodies), placed_groups(self).values()
        team = [number for number, group in enumerate(teams, 1) for _ in range(group.size)]
        shape = [(body.radius, 0.0) if body.radius else body.half for body in self.bodies]
        turns = 2 * np.pi * np.arange(max(self.params.lidar_rays, 1)) / max(self.params.lidar_rays, 1)
        return [
            Array("position", "float32", (count, 2), per="env", doc="metres"),
            Array("velocity", "float32", (count, 2), per="env", doc="metres a second"),
            Array("held", "int32", (count,), per="env", bounds=(NOTHING, count - 1), doc="body that it holds, or -1"),
            Array("locked", "int32", (count,), per="env", bounds=(0, len(teams)), doc="team that locked it, or 0"),
            _constant("shape", shape, doc="metres: radius and 0, or half a box's size"),
            _constant("mass", [body.mass for body in self.bodies], doc="kilograms"),
            _constant("drag", [body.drag for body in self.bodies], doc="1 / seconds"),
            _constant("start", [body.position for body in self.bodies], doc="metres"),
            _constant("walls", [*self.walls, (0.0, 0.0, 0.0, 0.0)], doc="x, y, half sizes, metres; the last is none"),
            _constant("starts_held", [body.holds for body in self.bodies], "int32", "held at the start"),
            _constant("team", team, "int32", "of each agent, from 1"),
            _constant("ray", np.stack([np.cos(turns), np.sin(turns)], 1), doc="directions of the lidar"),
        ]

    def constants(self) -> Mapping[str, Any]:
        """Numbers of bodies and of walls."""
        return {"BODIES": np.int32(len(self.bodies)), "WALLS": np.int32(len(self.walls))}

    # ---- what happens ------------------------------------------------------------------------------------------------
    def rules(self) -> Sequence[Phase | Kernel]:
        """Phases of a step once bodies have moved: callables ``fn(arrays, active)``."""
        return []

    def first_rules(self) -> Sequence[Phase | Kernel]:
        """Phases at the start of an episode, once bodies have their places; ``active`` marks those envs."""
        return []

    def phases(self) -> Sequence[Phase | Kernel]:
        """Move, the rules, and sense."""
        return [Kernel("push_bodies", threads_per_env=(1, 1)), *self.rules(), self._sense]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Put bodies in their places, the first rules, and sense."""
        return [Kernel("place_bodies", threads_per_env=(1, 1)), *self.first_rules(), self._sense]

    @property
    def _sense(self) -> Kernel:
        return Kernel("sense_bodies", threads_per_env=(1, self._agents))

    @property
    def _agents(self) -> int:
        return sum(group.size for group in self.groups())

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing | None:
        """Walls, boxes in the colour of the team that has locked them, agents, and a line from each holder."""
        p, place = self.params, np.asarray(arrays["position"], float)
        names = [group.name for group in self.groups()]
        fills = [group.name for group in self.groups() for _ in range(group.size)]
        fills += [names[team - 1] if team else "grid" for team in arrays["locked"][len(fills) :]]
        marks: list[Mark] = [Rectangles(0.0, 0.0, p.width, p.height, fill="ground", outline="muted", line_width=0.05)]
        for x, y, half_x, half_y in self.walls:
            marks.append(Rectangles(x - half_x, y - half_y, 2 * half_x, 2 * half_y, fill="ink"))
        marks += [_mark(body, at, fill) for body, at, fill in zip(self.bodies, place, fills, strict=True)]
        holders = np.flatnonzero(arrays["held"] >= 0)
        (x, y), (to_x, to_y) = place[holders].T, place[arrays["held"][holders]].T
        marks.append(Segments(x, y, to_x, to_y, outline="ink", line_width=0.06))
        return Drawing((-0.2, -0.2, p.width + 0.2, p.height + 0.2), marks, seconds=1.0 / p.fps)


def _mark(body: Body, at: np.ndarray, fill: str) -> Mark:
    """A body whose middle is ``at`` (2,)."""
    x, y = at
    if body.radius:
        return Discs(x, y, body.radius, fill=fill, outline="ink", line_width=0.03)
    half_x, half_y = body.half
    return Rectangles(x - half_x, y - half_y, 2 * half_x, 2 * half_y, fill=fill, outline="ink", line_width=0.03)


def _constant(name: str, values: object, dtype: str = "float32", doc: str = "") -> Array:
    initial = np.array(values, dtype)
    return Array(name, dtype, initial.shape, per="world", initial=initial, read_only=True, doc=doc)
