"""Two armies on a grid, of up to 32,767 soldiers each, by the rules of MAgent's Battle.

Source: "battle_v4" of MAgent2 0.3, with its defaults (Zheng, Yang, Cai, Zhou, Zhang, Wang, Yu: "MAgent: A Many-Agent
Reinforcement Learning Platform for Artificial Collective Intelligence", AAAI 2018). There soldiers act one by one in a
random order; here all strike at once, and then all walk at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from warpworld.drawing import Discs, Drawing, Mark, Rectangles
from warpworld.environment import (
    MAX_THREADS_PER_ENV,
    MOST_AGENTS,
    Array,
    Environment,
    Group,
    Kernel,
    Phase,
    Range,
    register,
)
from warpworld.envs.battle.formation import Formation, form

LARGEST_MAP = 1024
MOST_SOLDIERS = MOST_AGENTS // 2  # of an army
CHUNK = 16  # least length of a row of `circle`, as in battle.cu
Finite = Annotated[float, Range()]


# Keys by cells along x and y, which grow to the right and down.
WALK_KEYS = {(0, 0): "", (-1, 0): "left", (1, 0): "right", (0, -1): "up", (0, 1): "down"}
WALK_KEYS |= {(x, y): f"{WALK_KEYS[0, y]}+{WALK_KEYS[x, 0]}" for x in (-1, 1) for y in (-1, 1)}
WALK_KEYS |= {(-2, 0): "j", (2, 0): "l", (0, -2): "i", (0, 2): "k"}
STRIKE_KEYS = {(x, y): "qweasdzxc"[3 * (y + 1) + x + 1] for x in (-1, 0, 1) for y in (-1, 0, 1) if x or y}


@register("battle")
class Battle(Environment):
    """Two armies on a grid fight until one is dead; a soldier that strikes an enemy is rewarded, one that kills more.

    Actions: the cells within move_radius, row by row and its own among them, to walk to; then those within
    attack_radius, to strike at. Both armies see and act as if the enemy had started in the direction of x.
    """

    source = "battle.cu"
    compile_time = ("view_radius",)
    per_env = ("damage", "step_recover")
    infos = ("left",)

    @dataclass(frozen=True)
    class Params:
        """Parameters of battle; their defaults are MAgent2's."""

        army_size: Annotated[int, Range(1, MOST_SOLDIERS)] = 81  # soldiers of either army
        map_size: Annotated[int, Range(12, LARGEST_MAP)] = 45  # cells along each side, walls included
        episode_length: Annotated[int, Range(1, 2**31 - 1)] = 1000  # steps until the time limit
        move_radius: float = 2.0  # how far a step leads, cells
        attack_radius: float = 1.5  # how far a strike reaches, cells
        view_radius: Annotated[int, Range(1, 32)] = 6  # how far a soldier sees, cells
        max_hp: Annotated[float, Range(above=0)] = 10.0  # hit points at the start and at most
        damage: Annotated[float, Range(0)] = 2.0  # hit points that a strike takes
        step_recover: Annotated[float, Range(0)] = 0.1  # hit points that come back each step
        step_reward: Finite = -0.005  # to every living soldier, each step
        attack_penalty: Finite = -0.1  # for striking, whether or not an enemy is there
        attack_opponent_reward: Finite = 0.2  # for striking an enemy
        kill_reward: Finite = 5.0  # to one of those whose strikes kill an enemy, instead
        dead_penalty: Finite = -0.1  # for dying, instead of step_reward and attack_penalty

        def __post_init__(self) -> None:
            for name in ("move_radius", "attack_radius"):
                Range(1, self.view_radius).check(name, getattr(self, name), ", the view_radius")
            form(self.army_size, self.map_size)

    def groups(self) -> Sequence[Group]:
        """Red on the left, blue on the right."""
        view, p = 2 * self.params.view_radius + 1, self.params
        seen, actions = Box(0, 255, (5, view, view), np.uint8), Discrete(len(self._reach()))
        red, blue = (_named(self._reach() * (ahead, 1, 1)) for ahead in (1, -1))
        return [Group("red", p.army_size, seen, actions, **red), Group("blue", p.army_size, seen, actions, **blue)]

    def arrays(self) -> Sequence[Array]:
        """The map, the soldiers, how far actions reach and how armies start."""
        p, formation = self.params, self._formation()
        side, orders = p.map_size + 2 * p.view_radius, self._orders()
        return [
            Array("cells", "int32", (side * side,), per="env", bounds=(0, orders << 4), doc="the map with a margin"),
            Array(
                "planes", "uint8", (4, side * side), per="env", doc="what is seen of a cell: red, its hp, blue, its hp"
            ),
            Array("place", "int32", bounds=(-1, side * side - 1), doc="its index into cells, -1 once dead"),
            Array("hp", "float32", bounds=(0, p.max_hp), doc="hit points"),
            Array("kills", "int32", bounds=(0, p.army_size), metric="last", doc="of this soldier in the episode"),
            Array("blows", "int32", initial=0, on_reset="keep", doc="strikes at this soldier; 0 between steps"),
            Array("first", "int32", initial=0, on_reset="keep", doc="who strikes it first; 0 between steps"),
            Array("left", "int32", (2,), per="env", bounds=(0, p.army_size), doc="living soldiers, red and blue"),
            Array("red_won", "bool", per="env", metric="last", doc="more red than blue soldiers are left"),
            Array("turn", "int32", per="env", bounds=(0, orders - 1), doc="the order in which soldiers come next step"),
            _table(
                "reach", self._offsets(), "of red and blue, cells on in `cells`, times two, and one more for a strike"
            ),
            _table(
                "circle", self._view(), "of a view, in rows of 16 at least: all bits where a soldier sees, else none"
            ),
            _table("walls", self._walls(), "of the map with its margin: all bits where a wall is, else none"),
            _table("formation", formation.places, "column and row of each soldier at the start"),
            _table("slack", np.array([formation.slack]), "rows by which an army may start further down"),
        ]

    def phases(self) -> Sequence[Phase | Kernel]:
        """Strikes, deaths and walks."""
        return [self._kernel("step")]

    def resets(self) -> Sequence[Phase | Kernel]:
        """Reset both armies to their formations."""
        return [self._kernel("reset")]

    def _kernel(self, name: str) -> Kernel:
        """A kernel in which the threads of an env share its soldiers."""
        return Kernel(name, threads_per_env=(1, min(2 * self.params.army_size, MAX_THREADS_PER_ENV)))

    def draw(self, arrays: Mapping[str, np.ndarray]) -> Drawing:
        """The map and the living soldiers, larger the more hit points they have."""
        p, size = self.params, self.params.map_size
        y, x = np.divmod(arrays["place"], size + 2 * p.view_radius)
        lives, radius = arrays["place"] >= 0, 0.15 + 0.3 * arrays["hp"] / p.max_hp
        marks: list[Mark] = [
            Rectangles(0.0, 0.0, size, size, fill="muted"),
            Rectangles(1.0, 1.0, size - 2, size - 2, fill="ground"),
        ]
        for army, name in enumerate(("red", "blue")):
            shown = lives & (np.arange(2 * p.army_size) // p.army_size == army)
            at = x[shown] - p.view_radius + 0.5, y[shown] - p.view_radius + 0.5
            marks.append(Discs(*at, radius[shown], fill=name))
        return Drawing((-0.5, size + 0.5, size + 0.5, -0.5), marks, seconds=0.1)

    def _formation(self) -> Formation:
        return form(self.params.army_size, self.params.map_size)

    def _orders(self) -> int:
        """Number of orders of soldiers: a power of two, as in battle.cu."""
        return max(1024, 1 << (2 * self.params.army_size - 1).bit_length())

    def _reach(self) -> np.ndarray:
        """(actions, 3): cells along x and y, and 1 for a strike."""
        walks, strikes = _circle(self.params.move_radius), _circle(self.params.attack_radius)
        strikes = strikes[np.any(strikes != 0, axis=1)]
        return np.array([(*cell, 0) for cell in walks] + [(*cell, 1) for cell in strikes])

    def _offsets(self) -> np.ndarray:
        """(actions, 2): of red and blue, whose x axis is mirrored; see battle.cu."""
        x, y, strikes = self._reach().T
        ahead = np.stack([x, -x], axis=1) + (y * (self.params.map_size + 2 * self.params.view_radius))[:, None]
        return 2 * ahead + strikes[:, None]

    def _view(self) -> np.ndarray:
        radius = self.params.view_radius
        squared, view = np.arange(-radius, radius + 1) ** 2, 2 * radius + 1
        sees = np.where(squared[:, None] + squared <= radius**2, 255, 0).astype(np.uint8)
        return np.pad(sees, ((0, 0), (0, max(0, CHUNK - view))))

    def _walls(self) -> np.ndarray:
        """(side * side,)."""
        walls = np.full((self.params.map_size,) * 2, 255, np.uint8)
        walls[1:-1, 1:-1] = 0
        return np.pad(walls, self.params.view_radius).ravel()


def _named(reach: np.ndarray) -> dict[str, Any]:
    """Names of actions by what they do on the map, and keys, if every cell in reach has one."""
    names, keys = [], []
    for x, y, strikes in reach.tolist():
        ways = [(abs(n), words[n > 0]) for n, words in ((y, ("up", "down")), (x, ("left", "right"))) if n]
        parts = [f"{cells} {way}" if cells > 1 else way for cells, way in ways]
        names.append(("strike " if strikes else "") + (" ".join(parts) or "stay"))
        keys.append((STRIKE_KEYS if strikes else WALK_KEYS).get((x, y)))
    return {"action_names": tuple(names), "action_keys": None if None in keys else tuple(keys)}


def _circle(radius: float) -> np.ndarray:
    """(cells, 2): x and y of all cells within a radius, row by row."""
    reach = range(-int(radius), int(radius) + 1)
    return np.array([(x, y) for y in reach for x in reach if x**2 + y**2 <= radius**2])


def _table(name: str, values: np.ndarray, doc: str) -> Array:
    dtype = "uint8" if values.dtype == np.uint8 else "int32"
    return Array(name, dtype, values.shape, per="world", initial=values, read_only=True, doc=doc)
