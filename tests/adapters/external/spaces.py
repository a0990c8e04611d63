"""Environments of Gymnasium with spaces that a store cannot hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
from gymnasium.spaces import Box, Dict, Discrete, Graph, OneOf, Sequence, Space, Text, Tuple
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

NUMBERS = Box(0.0, 1.0, (2,))
SPACES: dict[str, Space] = {
    "Text": Text(5),
    "Sequence": Sequence(NUMBERS),
    "Graph": Graph(NUMBERS, Discrete(3)),
    "OneOf": OneOf((Discrete(3), NUMBERS)),
    "Dict of a Sequence": Dict({"numbers": NUMBERS, "list": Sequence(NUMBERS)}),
    "Tuple of a Graph": Tuple((NUMBERS, Graph(NUMBERS, None))),
    "Dict in a Dict": Dict({"inner": Dict({"list": Sequence(NUMBERS), "numbers": NUMBERS})}),
}


class Spaces(gymnasium.Env):
    """An env that may sample observations and take actions of any space.

    Args:
        observation: a key of ``SPACES``; empty for numbers.
        action: the same for actions.
    """

    def __init__(self, observation: str = "", action: str = "", render_mode: str | None = None) -> None:
        self.observation_space = SPACES.get(observation, NUMBERS)
        self.action_space = SPACES.get(action, Discrete(3))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        return self.observation_space.sample(), 0.0, False, False, {}


def function(num_envs: int, mode: str, **options: str) -> VectorEnv:
    """What ``library: tests.adapters.external.spaces:function`` names."""
    cls: Callable[..., VectorEnv] = {"sync": SyncVectorEnv, "async": AsyncVectorEnv}[mode]
    return cls([lambda: Spaces(**options)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
