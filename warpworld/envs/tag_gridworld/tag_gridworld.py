"""Tag on a grid: a crowd of taggers closes in on one runner.

Source: the "tag_gridworld" environment of WarpDrive (Lan, Srinivasa, Wang, Zheng: "WarpDrive: Fast End-to-End Deep
Multi-Agent Reinforcement Learning on a GPU", JMLR 2022), with its parameters, array names, rewards and observations.
Unlike there, the time limit truncates an episode, and episodes start on random cells unless ``start`` is "fixed".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Segments
from warpworld.environment import Array, Environment, Group, Kernel, Phase, Range, Script, register
from warpworld.errors import DeclarationError

MOST_THREADS = 256  # of an env, which share its agents where threads run in parallel
MOST_AGENTS = {True: 2400, False: 12_000}  # with full observations and without: what they share takes 48 KB
LONGEST_GRID = 32767  # two coordinates fit a 32-bit word, and so does a squared distance
MOVES, KEYS = ("stay", "right", "left", "up", "down"), ("", "right", "left", "up", "down")
Finite = Annotated[float, Range()]


@register("tag_gridworld")
class TagGridworld(Environment):
    """Taggers try to step on the runner's cell; all of them are rewarded when one does.

    Actions: 0 stay, 1 x+1, 2 x-1, 3 y+1, 4 y-1. The runner is the last agent.
    """

    source = "tag_gridworld.cu"
    compile_time = ("use_full_observation",)

    @dataclass(frozen=True)
    class Params:
        """Parameters of tag_gridworld; their names and defaults are WarpDrive's."""

        num_taggers: Annotated[int, Range(1, MOST_AGENTS[False] - 1)] = 10  # taggers; there is always one runner
        grid_length: Annotated[int, Range(1, LONGEST_GRID)] = 10  # cells are 0 .. grid_length on each axis
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 100  # steps until the time limit
        wall_hit_penalty: Finite = 0.1  # taken from an agent that walks into a wall, per axis
        tag_reward_for_tagger: Finite = 10.0  # to every tagger when the runner is caught
        tag_penalty_for_runner: Finite = 2.0  # taken from the runner when it is caught
        step_cost_for_tagger: Finite = 0.01  # taken from every tagger, and given to the runner, each step without a tag
        use_full_observation: bool = True  # true: all positions; false: the runner's or the nearest tagger's
        start: Literal["random", "fixed"] = "random"  # or fixed: taggers in the middle, the runner in a corner
        starting_location_x: tuple[int, ...] | None = None  # x of every agent at the start, taggers first
        starting_location_y: tuple[int, ...] | None = None  # y likewise; with both, start is fixed

        def __post_init__(self) -> None:
            _check(self)
            if self.starting_location_x is not None and self.starting_location_y is not None:
                object.__setattr__(self, "start", "fixed")

    def groups(self) -> Sequence[Group]:
        """The taggers, then the runner."""
        num_agents = self.params.num_taggers + 1
        size = 4 * num_agents + 1 if self.params.use_full_observation else 6
        seen, moves = Box(0.0, 1.0, (size,)), Discrete(5)
        sizes = {"tagger": self.params.num_taggers, "runner": 1}
        return [Group(name, size, seen, moves, action_names=MOVES, action_keys=KEYS) for name, size in sizes.items()]

    def arrays(self) -> Sequence[Array]:
        """Places of agents and, with a fixed start, the places where they start."""
        last = self.params.grid_length
        arrays = [
            Array("loc_x", "int32", bounds=(0, last), doc="cell along x"),
            Array("loc_y", "int32", bounds=(0, last), doc="cell along y"),
        ]
        if self.params.start == "fixed":
            arrays += [
                Array(
                    f"starting_location_{axis}",
                    "int32",
                    (self.params.num_taggers + 1,),
                    per="world",
                    initial=cells,
                    bounds=(0, last),
                    read_only=True,
                    doc=f"cell along {axis} in which each agent starts",
                )
                for axis, cells in zip("xy", self._fixed_start(), strict=True)
            ]
        return arrays

    def phases(self) -> Sequence[Phase | Kernel]:
        """Move all agents, then see who is tagged."""
        return [self._kernel("step")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """The kernel that draws start cells, or the one that takes the fixed ones."""
        return [self._kernel("reset_fixed" if self.params.start == "fixed" else "reset")]

    def _kernel(self, name: str) -> Kernel:
        """A kernel in which the threads of an env share its agents."""
        return Kernel(name, threads_per_env=(1, min(self.params.num_taggers + 1, MOST_THREADS)))

    def scripts(self) -> Mapping[str, Script]:
        """greedy: taggers step towards the runner, the runner away from the nearest tagger."""
        return {"greedy": self._kernel("greedy")}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The grid, the taggers and the runner; a ring around the runner's cell when it is caught."""
        x, y, last = arrays["loc_x"].astype(float), arrays["loc_y"].astype(float), self.params.grid_length
        lines = np.arange(last + 2) - 0.5
        marks: list[Mark] = [
            Rectangles(-0.5, -0.5, last + 1, last + 1, fill="ground"),
            Segments(lines, -0.5, lines, last + 0.5, outline="grid", line_width=0.03),
            Segments(-0.5, lines, last + 0.5, lines, outline="grid", line_width=0.03),
            Discs(x[-1], y[-1], 0.42, fill="runner"),
            _stacked(x[:-1], y[:-1]),
        ]
        if arrays["terminated"]:
            marks.append(Discs(x[-1], y[-1], 0.75, fill=None, outline="alarm", line_width=0.15))
        return Drawing((-1.0, -1.0, last + 1.0, last + 1.0), marks, seconds=0.15, places=(x, y))

    def _fixed_start(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Start cells along x and y: those given, or the middle for taggers and (0, 0) for the runner."""
        x, y = self.params.starting_location_x, self.params.starting_location_y
        if x is None or y is None:
            x = y = (self.params.grid_length // 2,) * self.params.num_taggers + (0,)
        return x, y


def _stacked(x: np.ndarray, y: np.ndarray) -> Discs:
    """Taggers as discs; those that share a cell stand around its middle, so that each is seen."""
    cells, cell_of, shared = np.unique(np.stack([x, y]), axis=1, return_inverse=True, return_counts=True)
    cell_of = cell_of.reshape(-1)
    order = np.zeros(len(x))
    for cell in range(cells.shape[1]):
        order[cell_of == cell] = np.arange(shared[cell])
    count = shared[cell_of]
    turn, aside = 2.0 * math.pi * order / count, np.where(count > 1, 0.2, 0.0)
    radius = np.where(count > 1, 0.22, 0.34)
    places = x + aside * np.cos(turn), y + aside * np.sin(turn)
    return Discs(*places, radius, fill="tagger", outline="paper", line_width=0.05)


def _check(p: TagGridworld.Params) -> None:
    """Refuse parameters that do not make a game together.

    Raises:
        DeclarationError: one is wrong; with its name and what was expected.
    """
    Range(1, MOST_AGENTS[p.use_full_observation] - 1).check("num_taggers", p.num_taggers)
    if (p.starting_location_x is None) != (p.starting_location_y is None):
        raise DeclarationError("starting_location_x and starting_location_y: expected both or neither, one is given")
    for name in ("starting_location_x", "starting_location_y"):
        cells = getattr(p, name)
        if cells is None:
            continue
        if not isinstance(cells, (tuple, list, np.ndarray)) or len(cells) != p.num_taggers + 1:
            raise DeclarationError(
                f"{name}={cells!r}: expected {p.num_taggers + 1} whole numbers, the taggers' and then the runner's"
            )
        for i, cell in enumerate(cells):
            is_whole = isinstance(cell, (int, np.integer)) and not isinstance(cell, bool)
            if not is_whole or not 0 <= cell <= p.grid_length:
                raise DeclarationError(f"{name}[{i}]={cell!r}: expected a whole number from 0 to {p.grid_length}")
