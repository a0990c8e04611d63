"""Level-based foraging: players with levels load food that may take several of them.

Source: lbforaging 2.0 (Albrecht and Ramamoorthy: "A Game-Theoretic Model and Best-Response Learning Method for Ad Hoc
Coordination in Multiagent Systems", 2013; Papoudakis, Christianos, Schäfer, Albrecht: "Benchmarking Multi-Agent Deep
Reinforcement Learning Algorithms in Cooperative Tasks", 2021), with its parameters, rewards and observations. Unlike
there, the time limit truncates, and all players draw their levels from one range, as does all food.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Segments
from warpworld.environment import MAX_THREADS_PER_ENV, Array, Environment, Group, Kernel, Phase, Range, register

ACTIONS = ("nothing", "north", "south", "west", "east", "load")
KEYS = ("", "up", "down", "left", "right", "space")
LONGEST_SIDE = 100  # cells: a field's counters fill 40 KB of the 48 KB that an env's threads share
HIGHEST_LEVEL = 255  # of food
Side = Annotated[int, Range(3, LONGEST_SIDE)]
PlayerLevel = Annotated[int, Range(1, HIGHEST_LEVEL // 3)]


@register("foraging")
class Foraging(Environment):
    """Players next to food load it together: each food pays the loaders by their levels. lbforaging's rules.

    Actions: 0 nothing, 1 north, 2 south, 3 west, 4 east, 5 load. What is not possible counts as nothing.
    """

    source = "foraging.cu"
    compile_time = ("rows", "cols", "max_num_food", "sight", "grid_observation", "observe_agent_levels")
    per_env = ("present_players", "present_food", "force_coop", "penalty")

    @dataclass(frozen=True)
    class Params:
        """Parameters of foraging; most names are lbforaging's, whose Foraging-8x8-2p-2f is the default."""

        rows: Side = 8  # of the field
        cols: Side = 8  # of the field
        players: Annotated[int, Range(1, MAX_THREADS_PER_ENV)] = 2  # in an env at most
        min_player_level: PlayerLevel = 1  # lowest level that a player may draw
        max_player_level: PlayerLevel = 2  # highest level that a player may draw
        max_num_food: Annotated[int, Range(1)] = 2  # pieces of food in an env at most
        min_food_level: Annotated[int, Range(1, HIGHEST_LEVEL)] = 1  # lowest level that food may draw
        max_food_level: Annotated[int, Range(0, HIGHEST_LEVEL)] = 0  # highest; 0: the sum of the players' three lowest
        sight: Annotated[int, Range(1, LONGEST_SIDE)] = 8  # cells that a player sees to each side
        force_coop: bool = False  # all food has the highest level
        penalty: Annotated[float, Range(0)] = 0.0  # taken from those who try to load food of too high a level
        normalize_reward: bool = True  # all food of an episode is worth 1
        grid_observation: bool = False  # true: three layers of cells around the player; false: a list
        observe_agent_levels: bool = True  # whether players see the levels of players
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 50  # steps until the time limit
        present_players: Annotated[int, Range(0)] = 0  # in this env; the others take no part; 0 for all
        present_food: Annotated[int, Range(0)] = 0  # in this env; 0 for max_num_food

        def __post_init__(self) -> None:
            Range(1, min(self.rows * self.cols - 1, MAX_THREADS_PER_ENV)).check("players", self.players)
            Range(self.min_player_level, HIGHEST_LEVEL // 3).check("max_player_level", self.max_player_level)
            Range(1, (self.rows - 2) * (self.cols - 2)).check("max_num_food", self.max_num_food)
            Range(0, self.players).check("present_players", self.present_players)
            Range(0, self.max_num_food).check("present_food", self.present_food)
            if self.max_food_level:
                Range(self.min_food_level, HIGHEST_LEVEL).check("max_food_level", self.max_food_level, ", or 0")

    def groups(self) -> Sequence[Group]:
        """The players."""
        p = self.params
        most = self._highest_food()
        if p.grid_observation:
            side = 2 * p.sight + 1
            high = np.array([p.max_player_level, most, 1.0], np.float32)[:, None, None]
            seen = Box(0.0, np.broadcast_to(high, (3, side, side)).astype(np.float32))
        else:
            each = 3 if p.observe_agent_levels else 2
            low, last = [-1.0, -1.0, 0.0], [p.rows - 1.0, p.cols - 1.0]
            lows = low * p.max_num_food + low[:each] * p.players
            highs = [*last, most] * p.max_num_food + [*last, p.max_player_level][:each] * p.players
            seen = Box(np.array(lows, np.float32), np.array(highs, np.float32))
        return [Group("player", p.players, seen, Discrete(6), action_names=ACTIONS, action_keys=KEYS)]

    def arrays(self) -> Sequence[Array]:
        """The field, its food as a list, and the players."""
        p, most = self.params, self._highest_food()
        food = (p.max_num_food,)
        return [
            Array("field", "uint8", (p.rows, p.cols), per="env", bounds=(0, most), doc="level of the food on a cell"),
            Array("food_row", "int16", food, per="env", bounds=(0, p.rows - 1), doc="row of each piece of food"),
            Array("food_col", "int16", food, per="env", bounds=(0, p.cols - 1), doc="column of each piece of food"),
            Array("food_level", "uint8", food, per="env", bounds=(0, most), doc="level of each, 0 once it is loaded"),
            Array("food_spawned", "int32", per="env", doc="sum of the levels of all food at the start"),
            Array("row", "int16", bounds=(-1, p.rows - 1), doc="from the north, -1 of an absent player"),
            Array("col", "int16", bounds=(-1, p.cols - 1), doc="from the west, -1 of an absent player"),
            Array("level", "uint8", bounds=(0, p.max_player_level), doc="of a player, 0 of an absent one"),
        ]

    def phases(self) -> Sequence[Phase | Kernel]:
        """Kernel of a step; its loops suit any number of threads."""
        return [Kernel("step", threads_per_env=(1, self.params.players))]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Random cells and levels."""
        return [Kernel("reset", threads_per_env=(1, self.params.players))]

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The field, food and players, larger the higher their level."""
        rows, cols = self.params.rows, self.params.cols
        x_lines, y_lines = np.arange(cols + 1.0), np.arange(rows + 1.0)
        y, x = np.nonzero(arrays["field"])
        food_size = 0.9 * np.sqrt(arrays["field"][y, x] / self._highest_food())
        is_here = arrays["level"] > 0
        row, col, level = (arrays[name][is_here].astype(float) for name in ("row", "col", "level"))
        size = 0.2 + 0.25 * level / self.params.max_player_level
        marks: list[Mark] = [
            Rectangles(0.0, 0.0, cols, rows, fill="ground"),
            Segments(x_lines, 0.0, x_lines, rows, outline="grid", line_width=0.03),
            Segments(0.0, y_lines, cols, y_lines, outline="grid", line_width=0.03),
            Rectangles(x + 0.5 - food_size / 2, y + 0.5 - food_size / 2, food_size, food_size, fill="#3f9c5a"),
            Discs(col + 0.5, row + 0.5, size, fill="player", outline="paper", line_width=0.05),
        ]
        return Drawing((-0.5, rows + 0.5, cols + 0.5, -0.5), marks, seconds=0.25)

    def _highest_food(self) -> int:
        """The highest level that food can have."""
        p = self.params
        return p.max_food_level or max(p.min_food_level, p.max_player_level * min(p.players, 3))
