"""A robotic warehouse: robots bring requested shelves to goals, and put them back.

Source: rware 2.0 (Papoudakis, Christianos, Schäfer, Albrecht: "Benchmarking Multi-Agent Deep Reinforcement Learning
Algorithms in Cooperative Tasks", 2021), with its floors, rules, rewards and flat observations. Unlike there, the time
limit truncates, and a robot always meets others in the order of their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Segments
from warpworld.environment import Array, Environment, Group, Kernel, Phase, Range, register
from warpworld.envs.warehouse.layouts import STORAGE, Floor, floor_of
from warpworld.errors import DeclarationError

Reward = Literal["individual", "global", "two_stage"]
REWARDS: tuple[Reward, ...] = get_args(Reward)  # in the order of Reward in warehouse.cu
ACTIONS = ("nothing", "forward", "turn left", "turn right", "take or put down")
KEYS = ("", "up", "left", "right", "space")
MOST_AGENTS = 255  # whose numbers fit a byte
MOST_CELLS = 16_384  # of a grid with its margin, whose queues fill 32 KB of the 48 KB that an env's threads share
TO_X, TO_Y = np.array([0, 0, -1, 1]), np.array([-1, 1, 0, 0])  # up, down, left, right; y grows downwards


@register("warehouse")
class Warehouse(Environment):
    """Robots carry requested shelves to goals and back; a delivery pays 1. rware's rules.

    Actions: 0 nothing, 1 forward, 2 turn left, 3 turn right, 4 take or put down a shelf.
    """

    source = "warehouse.cu"
    compile_time = ("sensor_range", "request_queue_size", "height", "width", "num_shelves", "num_goals")
    file_params = ("layout",)

    @dataclass(frozen=True)
    class Params:
        """Parameters of warehouse; most names are rware's, whose rware-tiny-2ag is the default."""

        layout: str = "tiny"  # small, medium, large, or a text file: a line of X (shelf), . and G (goal) for each row
        column_height: Annotated[int, Range(1, 1000)] = 8  # shelves in a column, of the named layouts
        agents: Annotated[int, Range(1, MOST_AGENTS)] = 2  # robots
        sensor_range: Annotated[int, Range(1, 10)] = 1  # cells that a robot sees to each side
        request_queue_size: int = 2  # shelves that are asked for at a time
        reward: Reward = "individual"  # who is paid: the carrier, all, or half at the goal, half once it is back
        normalised_coordinates: bool = False  # a robot sees its place as a part of the floor, from 0 to 1
        max_inactivity_steps: Annotated[int, Range(0, 2**31 - 1)] = 0  # without a delivery; 0: no limit
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 500  # steps until the time limit
        reward_number: int = field(init=False, default=0)
        height: int = field(init=False, default=0)
        width: int = field(init=False, default=0)
        num_shelves: int = field(init=False, default=0)
        num_goals: int = field(init=False, default=0)

        def __post_init__(self) -> None:
            floor = self.floor
            sizes = dict(zip(("height", "width"), floor.cells.shape, strict=True))
            for name, value in {**sizes, "num_shelves": len(floor.shelves), "num_goals": len(floor.goals)}.items():
                object.__setattr__(self, name, value)
            self._check_size()
            Range(1, min(MOST_AGENTS, self.height * self.width // 2)).check("agents", self.agents)
            Range(1, self.num_shelves - 1).check("request_queue_size", self.request_queue_size)
            object.__setattr__(self, "reward_number", REWARDS.index(self.reward))

        def _check_size(self) -> None:
            cells = (self.height + 2 * self.sensor_range) * (self.width + 2 * self.sensor_range)
            if cells > MOST_CELLS:
                raise DeclarationError(
                    f"layout={self.layout!r}: {self.height} x {self.width} cells, {cells} with a margin of "
                    f"sensor_range={self.sensor_range}, expected at most {MOST_CELLS}"
                )

        @property
        def floor(self) -> Floor:
            """Corridors, shelves and goals."""
            return floor_of(self.layout, self.column_height)

    def groups(self) -> Sequence[Group]:
        """The robots."""
        p = self.params
        high = np.ones(8 + 7 * (2 * p.sensor_range + 1) ** 2, np.float32)
        if not p.normalised_coordinates:
            high[:2] = p.width - 1, p.height - 1
        seen = Box(np.zeros_like(high), high)
        return [Group("robot", p.agents, seen, Discrete(5), action_names=ACTIONS, action_keys=KEYS)]

    def arrays(self) -> Sequence[Array]:
        """The floor, what is where on it, the shelves, and the robots. Cells count row by row, with the margin."""
        p, floor = self.params, self.params.floor
        margin = p.sensor_range
        ground = np.pad(floor.cells, margin)
        grid, last, shelves = ground.shape, ground.size - 1, (p.num_shelves,)

        def cells(places: np.ndarray) -> np.ndarray:
            return ((places[:, 0] + margin) * grid[1] + places[:, 1] + margin).astype(np.int16)

        known: dict[str, Any] = dict(per="world", read_only=True)
        return [
            Array(
                "ground", "uint8", grid, initial=ground, bounds=(0, 2), doc="0 outside, 1 shelves, 2 corridor", **known
            ),
            Array("goals", "int16", (p.num_goals,), initial=cells(floor.goals), doc="cell of each goal", **known),
            Array("shelf_home", "int16", shelves, initial=cells(floor.shelves), doc="where each begins", **known),
            Array(
                "agent_at", "uint8", grid, per="env", bounds=(0, p.agents), doc="1 + the robot on a cell, 0 for none"
            ),
            Array("shelf_at", "int16", grid, per="env", bounds=(0, p.num_shelves), doc="1 + the shelf, 0 for none"),
            Array("looks", "uint8", grid, per="env", bounds=(0, 127), doc="what robots see of a cell, a bit a feature"),
            Array("shelf_cell", "int16", shelves, per="env", bounds=(0, last), doc="cell of each shelf"),
            Array("requested", "bool", shelves, per="env", doc="is asked for"),
            Array("inactive", "int32", per="env", initial=0, on_reset="initial", doc="steps since the last delivery"),
            Array(
                "deliveries", "int32", per="env", initial=0, on_reset="initial", doc="of this episode", metric="last"
            ),
            Array("cell", "int32", bounds=(0, last), doc="of a robot"),
            Array("direction", "int32", bounds=(0, 3), doc="0 up, 1 down, 2 left, 3 right"),
            Array("carrying", "int32", bounds=(0, p.num_shelves), doc="1 + the shelf that a robot carries, 0 for none"),
            Array("has_delivered", "bool", doc="the carried shelf has paid at a goal, and pays again when it is back"),
        ]

    def phases(self) -> Sequence[Phase | Kernel]:
        """Kernel of a step; its loops suit any number of threads."""
        return [Kernel("step", threads_per_env=(1, self.params.agents))]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Shelves in their places, robots anywhere."""
        return [Kernel("reset", threads_per_env=(1, self.params.agents))]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The floor, shelves, those that are asked for in another colour, and robots with their direction."""
        p, floor = self.params, self.params.floor
        margin, stride = p.sensor_range, p.width + 2 * p.sensor_range
        shelf_y, shelf_x = np.divmod(arrays["shelf_cell"].astype(int), stride) - np.array(margin)
        y, x = (each - margin + 0.5 for each in np.divmod(arrays["cell"].astype(int), stride))
        wanted, turn = arrays["requested"].astype(bool), arrays["direction"].astype(int)
        home_y, home_x = np.nonzero(floor.cells == STORAGE)
        is_loaded = arrays["carrying"] > 0
        marks: list[Mark] = [
            Rectangles(0.0, 0.0, p.width, p.height, fill="ground"),
            Rectangles(home_x, home_y, 1.0, 1.0, fill="grid"),
            Rectangles(floor.goals[:, 1], floor.goals[:, 0], 1.0, 1.0, fill="muted"),
            _shelves(shelf_x[~wanted], shelf_y[~wanted], "#8a7bb8"),
            _shelves(shelf_x[wanted], shelf_y[wanted], "#2f9e77"),
            Discs(x, y, np.where(is_loaded, 0.3, 0.36), fill="robot", outline="paper", line_width=0.06),
            Segments(x, y, x + 0.33 * TO_X[turn], y + 0.33 * TO_Y[turn], outline="ink", line_width=0.1),
        ]
        return Drawing((-0.5, p.height + 0.5, p.width + 0.5, -0.5), marks, seconds=0.1)


def _shelves(x: np.ndarray, y: np.ndarray, colour: str) -> Rectangles:
    return Rectangles(x + 0.08, y + 0.08, 0.84, 0.84, fill=colour)
