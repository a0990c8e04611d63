"""Skirmish: units of several kinds against another side, in real time on an open field.

Source: SMAX of JaxMARL (Rutherford et al.: "JaxMARL: Multi-Agent RL Environments and Algorithms in JAX", 2023), after
the StarCraft Multi-Agent Challenge (Samvelyan et al., 2019); its rules, views, rewards and scenarios are these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles, Segments, Text
from warpworld.environment import Array, Environment, Group, Kernel, Phase, Range, Script, register
from warpworld.envs.skirmish.scenarios import KINDS, Scenario, scenario_of

ATTACK = 5  # choices before the first of the attacks
MOVES = ("north", "east", "south", "west", "stop")
MOVE_KEYS = ("up", "right", "down", "left", "")
ATTACK_KEYS = tuple("1234567890qwertyuiop")  # as far as they go
LARGEST_MAP = 4096
MOST_THREADS = 256  # of an env; with more, sm_80 spills registers


@register("skirmish")
class Skirmish(Environment):
    """Two small teams of units move and shoot until one team is dead; all units of a team receive the same reward.

    Actions: 0 north, 1 east, 2 south, 3 west, 4 stop, and from 5 on a shot at each opponent. A step is half a second.
    """

    source = "skirmish.cu"
    compile_time = ("see_enemy_actions",)
    per_env = ("cooldown_noise", "enemy_damage")
    infos = ("won",)

    @dataclass(frozen=True)
    class Params:
        """Parameters of skirmish; their defaults are SMAX's."""

        scenario: str = "2s3z"  # 2 stalkers, 3 zealots on either side; 5m_vs_6m: allies, then enemies; smacv2_5_units
        map_width: Annotated[int, Range(8, LARGEST_MAP)] = 32  # cells
        map_height: Annotated[int, Range(8, LARGEST_MAP)] = 32  # cells
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 100  # steps until the time limit
        walls_cause_death: bool = True  # to touch the map's edge kills
        see_enemy_actions: bool = True  # views show what opponents did last
        self_play_rewards: bool = False  # true: only wins and losses are paid; false: damage and wins
        won_bonus: Annotated[float, Range(0)] = 1.0  # for a win
        cooldown_noise: Annotated[float, Range(0, 1)] = 1.0  # share of the noise in the time between shots
        enemy_damage: Annotated[float, Range(0)] = 1.0  # factor of the damage that enemies do

        def __post_init__(self) -> None:
            scenario_of(self.scenario)

    def __init__(self, **params: Any) -> None:
        """Check the parameters and read the scenario."""
        super().__init__(**params)
        self.scenario: Scenario = scenario_of(self.params.scenario)

    def groups(self) -> Sequence[Group]:
        """The allies on the left, the enemies on the right."""
        allies, enemies = len(self.scenario.allies), len(self.scenario.enemies)
        others, about_one, about_itself = allies + enemies - 1, 7 + len(KINDS), 4 + len(KINDS)
        seen = Box(-2.0, 2.0, (others * about_one + about_itself,))
        return [
            Group("ally", allies, seen, Discrete(ATTACK + enemies), own_arrays=True, **_named(enemies)),
            Group("enemy", enemies, seen, Discrete(ATTACK + allies), own_arrays=True, **_named(allies)),
        ]

    def arrays(self) -> Sequence[Array]:
        """Arrays of the units."""
        kinds = np.array(self.scenario.allies + self.scenario.enemies, dtype=np.int32)
        most = ATTACK + max(len(self.scenario.allies), len(self.scenario.enemies)) - 1
        return [
            Array("x", "float32", doc="cells from the west"),
            Array("y", "float32", doc="cells from the south"),
            Array("health", "float32", bounds=(0, max(kind.health for kind in KINDS)), doc="points, 0 once dead"),
            Array("cooldown", "float32", doc="seconds until it can shoot; 0 or less if it can"),
            Array("kind", "int32", bounds=(0, len(KINDS) - 1), doc="its place in KINDS"),
            Array("last_action", "int32", bounds=(0, most), doc="in the last step"),
            Array("goal_x", "float32", doc="where the script walks while it sees no opponent, cells"),
            Array("goal_y", "float32", doc="the same"),
            Array("won", "bool", per="env", metric="last", doc="the enemy is dead, and some ally is not"),
            _table("army", "int32", kinds, "kinds at the start; -1: drawn"),
            _table("ranges", "float32", np.stack([_column("reach"), _column("sight")]), "of each kind: reach, sight"),
        ]

    def constants(self) -> Mapping[str, Any]:
        """Properties of all kinds, by the name of the constant, and the widest room that two of the scenario need."""
        columns = {"SPEED": "speed", "SIGHT": "sight", "RADIUS": "radius", "RELOAD": "reload", "MOST_HEALTH": "health"}
        floats = {name: _column(field) for name, field in columns.items()}
        ends = {"REACH_ENDS": _ends(_column("reach")), "SIGHT_ENDS": _ends(_column("sight"))}
        room = 2.0 * _column("radius")[[*self.scenario.possible_kinds]].max(keepdims=True)
        return {**floats, **ends, "WIDEST_ROOM": room, "DAMAGE": _column("damage").astype(np.int32)}

    def phases(self) -> Sequence[Phase | Kernel]:
        """Kernel of a step; its loops run over units."""
        return [Kernel("step", threads_per_env=self._threads)]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Kernel of a reset; its loops run over units."""
        return [Kernel("reset", threads_per_env=self._threads)]

    @property
    def _threads(self) -> tuple[int, int]:
        return 1, min(self._units, MOST_THREADS)

    @property
    def _units(self) -> int:
        return len(self.scenario.allies) + len(self.scenario.enemies)

    def scripts(self) -> Mapping[str, Script]:
        """attack: shoots at the nearest opponent until it is dead, and walks towards opponents; SMAX's heuristic."""
        return {"attack": "attack"}

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The living units: a letter for the kind, a bar for the health, and a line to whom each shoots at."""
        width, height = self.params.map_width, self.params.map_height
        x, y, lives = arrays["x"], arrays["y"], arrays["health"] > 0
        radius, most = _column("radius")[arrays["kind"]], _column("health")[arrays["kind"]]
        allies, units = len(self.scenario.allies), self._units
        marks: list[Mark] = [Rectangles(0.0, 0.0, width, height, fill="ground", outline="muted", line_width=0.2)]
        shooters = np.flatnonzero(lives & (arrays["last_action"] >= ATTACK))
        number = arrays["last_action"][shooters] - ATTACK
        targets = np.where(shooters < allies, allies + number, allies - 1 - number)
        marks.append(Segments(x[shooters], y[shooters], x[targets], y[targets], outline="alarm", line_width=0.08))
        for name, side in (("ally", slice(0, allies)), ("enemy", slice(allies, units))):
            who = np.arange(units)[side][lives[side]]
            marks.append(Discs(x[who], y[who], radius[who], fill=name))
            marks.append(Rectangles(x[who] - 0.6, y[who] + radius[who] + 0.2, 1.2, 0.25, fill="grid"))
            share = arrays["health"][who] / most[who]
            marks.append(Rectangles(x[who] - 0.6, y[who] + radius[who] + 0.2, 1.2 * share, 0.25, fill="ink"))
        for unit in np.flatnonzero(lives):
            letter = KINDS[arrays["kind"][unit]].letter
            marks.append(Text(x[unit], y[unit], letter, size=1.3 * radius[unit], fill="paper"))
        return Drawing((-0.5, -0.5, width + 0.5, height + 0.5), marks, seconds=0.15)


def _column(field: str) -> np.ndarray:
    return np.array([getattr(kind, field) for kind in KINDS], dtype=np.float32)


def _ends(ranges: np.ndarray) -> np.ndarray:
    """The least float32 numbers whose square roots are not below the ranges."""
    ends = ranges * ranges
    while np.any(found := np.sqrt(below := np.nextafter(ends, np.float32(0))) >= ranges):
        ends = np.where(found, below, ends)
    while np.any(found := np.sqrt(ends) < ranges):
        ends = np.where(found, np.nextafter(ends, np.float32(np.inf)), ends)
    return ends


def _table(name: str, dtype: str, values: np.ndarray, doc: str) -> Array:
    return Array(name, dtype, values.shape, per="world", initial=values, read_only=True, doc=doc)


def _named(opponents: int) -> dict[str, Any]:
    """Names of a unit's choices, and keys for them."""
    attacks = tuple(f"shoot at {number}" for number in range(opponents))
    keys = (*ATTACK_KEYS, *([""] * opponents))[:opponents]
    return {"action_names": (*MOVES, *attacks), "action_keys": (*MOVE_KEYS, *keys)}
