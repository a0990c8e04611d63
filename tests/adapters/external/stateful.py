"""Envs of Gymnasium whose states are of all kinds, or are none."""

from __future__ import annotations

import enum
import functools
import random
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import batch_space

STEPS = 9  # of an episode


class Weather(enum.Enum):
    DRY = 1
    WET = 2


class Spot(NamedTuple):
    row: int
    column: int


@dataclass
class Ball:
    spot: Spot
    speed: float
    seen_by: list[Any] = field(default_factory=list)


class Slotted:
    __slots__ = ("count", "later")

    def __init__(self) -> None:
        self.count = 0


class Base(gymnasium.Env):
    """Shows two numbers, which ``_seen`` computes; an episode has nine steps."""

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Discrete(3)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        self._begin()
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self._move(int(action))
        return self._seen(), float(self.steps + action), False, self.steps >= STEPS, {}

    def _begin(self) -> None: ...

    def _move(self, action: int) -> None: ...

    def _seen(self) -> np.ndarray:
        return np.array([self.steps, self.np_random.random()])


class Many(Base):
    """Everything that a state may hold, all of which its course depends on."""

    def __init__(self) -> None:
        self.old, self.plain = np.random.RandomState(5), random.Random(6)
        self.all_games: list[Any] = []
        self.way = self._forward
        self.by_name: Any = OrderedDict(a=1)
        self.slotted = Slotted()
        self.lines = np.asfortranarray(np.arange(12.0).reshape(3, 4))

    def _forward(self) -> int:
        return 1

    def _begin(self) -> None:
        self.balls: list[Ball] = []
        self.grid = np.zeros((4, 4), np.int16)
        self.row = self.grid[1, ::2]  # a view: what is written there is in the grid
        self.trail: deque[Any] = deque(maxlen=3)
        self.found: set[int] = {1}
        self.counts: Any = defaultdict(list)
        self.tally = Counter("ab")
        self.weather, self.nothing, self.spin = Weather.DRY, None, 1 + 2j
        self.me = self
        self.all_games.append(self.steps)
        self.name, self.raw, self.many = "x", b"y", 2**70

    def _move(self, action: int) -> None:
        if action == 2:
            ball = Ball(Spot(action, self.steps), self.old.normal(), [self.balls])
            self.balls.append(ball)
            self.trail.append(ball)  # the same one
        for ball in self.trail:
            ball.speed += self.plain.random()
        self.row += action
        self.found.add(self.steps * action)
        self.counts[action].append(self.steps)
        self.tally[str(action)] += 1
        self.weather = Weather.WET if self.steps % 2 else Weather.DRY
        self.spin *= 1j
        self.slotted.count += self.way()
        self.slotted.later = np.float32(action)
        self.lines[action] += self.me.many % 7
        self.me.by_name[action] = self.np_random.integers(9)

    def _seen(self) -> np.ndarray:
        pieces = [ball.speed + ball.spot.column + len(ball.seen_by[0]) for ball in self.balls]
        numbers = [self.grid.sum(), len(self.found), sum(map(len, self.counts.values())), self.slotted.count]
        more = [self.tally["2"], self.spin.real, sum(self.by_name.values()), self.weather.value, len(self.all_games)]
        return np.array([float(sum(pieces)) + self.lines.sum(), float(sum(numbers)) + float(sum(more))])


class Locked(Base):
    """Holds what no state can."""

    def __init__(self) -> None:
        self.guards = [threading.Lock()]


class Unseeded(Base):
    """Draws from the generator of the whole process."""

    def _seen(self) -> np.ndarray:
        return np.random.random(2)


class Own(Locked):
    """Says itself what its state is."""

    def get_state(self) -> Any:
        return {"steps": self.steps, "generator": self.np_random.bit_generator.state}

    def set_state(self, state: Any) -> None:
        self.steps = state["steps"]
        self.np_random.bit_generator.state = state["generator"]


class Forgetful(Own):
    """Leaves out its generator."""

    def get_state(self) -> Any:
        return {"steps": self.steps}

    def set_state(self, state: Any) -> None:
        self.steps = state["steps"]


class Changing(Own):
    """Does not take what it gave."""

    def set_state(self, state: Any) -> None:
        super().set_state({**state, "steps": state["steps"] + 1})


class Raising(Own):
    def set_state(self, state: Any) -> None:
        raise KeyError("steps")


class Growing(Base):
    """Keeps a list that grows by a thousand numbers a step."""

    def _begin(self) -> None:
        self.history: list[float] = []

    def _move(self, action: int) -> None:
        if self.steps > 4 and len(getattr(self, "episodes", [])) > 5:
            self.history += [float(action)] * 1000

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.episodes = [*getattr(self, "episodes", []), 0]
        return super().reset(seed=seed, options=options)


KINDS = {kind.__name__: kind for kind in (Many, Locked, Unseeded, Own, Forgetful, Changing, Raising, Growing)}


def stateful(num_envs: int, kind: str = "Many", mode: str = "SAME_STEP") -> SyncVectorEnv:
    """The vector environment of ``library: tests.adapters.external.stateful:stateful``."""
    return SyncVectorEnv([functools.partial(KINDS[kind])] * num_envs, autoreset_mode=AutoresetMode[mode])


class Together(VectorEnv):
    """All envs in arrays, with states of its own."""

    metadata = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = Base.observation_space, Base.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))
        if seed is not None:
            self.generators = [np.random.default_rng(seed + env) for env in range(self.num_envs)]
            self.values = np.zeros((self.num_envs, 2))
        self.values[mask, 0] = 0
        self._draw(mask)
        return self.values.copy(), {}

    def _draw(self, mask: np.ndarray) -> None:
        for env in np.flatnonzero(mask):
            self.values[env, 1] = self.generators[env].random()

    def step(self, actions: np.ndarray) -> Any:
        self.values[:, 0] += 1
        self._draw(np.ones(self.num_envs, np.bool_))
        ended = self.values[:, 0] >= STEPS
        return self.values.copy(), self.values[:, 1] + actions, ended, np.zeros_like(ended), {}

    def get_state(self, env: int) -> Any:
        return self.values[env].copy(), self.generators[env].bit_generator.state

    def set_state(self, env: int, state: Any) -> None:
        self.values[env], self.generators[env].bit_generator.state = state


def together(num_envs: int) -> Together:
    return Together(num_envs)


class Around(gymnasium.vector.VectorWrapper):
    """A wrapper around all envs at once."""


def around(num_envs: int) -> Around:
    return Around(stateful(num_envs))
