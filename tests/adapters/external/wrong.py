"""Environments of each library whose env 1 alone returns a wrong result; the seed says which env one is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

SPACE = Dict({"choice": Discrete(3), "bytes": Box(0, 255, (2,), np.uint8)})
RIGHT = {"choice": 2, "bytes": np.zeros(2, np.uint8)}, 1.0, False, False
WRONG: dict[str, tuple[Any, ...]] = {  # observation, reward, terminated, truncated
    "reward None": (RIGHT[0], None, False, False),
    "reward NaN": (RIGHT[0], float("nan"), False, False),
    "end in words": (RIGHT[0], 1.0, "no", False),
    "end 2": (RIGHT[0], 1.0, False, 2),
    "shape": (RIGHT[0] | {"bytes": np.zeros(3, np.uint8)}, 1.0, False, False),
    "fraction": (RIGHT[0] | {"bytes": np.array([0.5, 1.0])}, 1.0, False, False),
    "choice": (RIGHT[0] | {"choice": 7}, 1.0, False, False),
    "key": ({"choice": 1}, 1.0, False, False),
}


class Single(gymnasium.Env):
    """An env of Gymnasium."""

    observation_space: Space = SPACE
    action_space: Space = Discrete(3)
    purpose = "tests"
    speed, _shape = 1, 2

    def __init__(self, result: str, render_mode: str | None = None) -> None:
        self._result, self._number = result, 0

    def own_attributes(self) -> tuple[Any, ...]:
        """Values that the env itself reads; ``added`` was set from outside."""
        return self.speed, self._shape, self.purpose, vars(self)["added"]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._number = self._number if seed is None else seed
        return RIGHT[0], {}

    def step(self, action: Any) -> Any:
        return (*(WRONG[self._result] if self._number == 1 else RIGHT), {})


def function(num_envs: int, result: str, mode: str) -> VectorEnv:
    """What ``library: tests.adapters.external.wrong:function`` names."""
    cls: Callable[..., VectorEnv] = {"sync": SyncVectorEnv, "async": AsyncVectorEnv}[mode]
    return cls([lambda: Single(result)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)


class Asking(SyncVectorEnv):
    """Asks its envs for an attribute of their own once they are made."""

    def __init__(self, num_envs: int) -> None:
        super().__init__([lambda: Single("shape")] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
        assert [env.purpose for env in self.envs] == ["tests"] * num_envs  # type: ignore[attr-defined]


def asking(num_envs: int) -> VectorEnv:
    """What ``library: tests.adapters.external.wrong:asking`` names."""
    return Asking(num_envs)


def failing(num_envs: int) -> VectorEnv:
    """What ``library: tests.adapters.external.wrong:failing`` names."""
    raise ValueError("no such mode")


class Batch(VectorEnv):
    """A vector environment of its own, or, with ``info`` of that form, a pool of EnvPool of one player an env."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012, Gymnasium's own form
    single_observation_space = observation_space = SPACE
    single_action_space = action_space = Discrete(3)

    def __init__(self, num_envs: int, result: str) -> None:
        self.num_envs, self._result = num_envs, result

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self._of([RIGHT] * self.num_envs)[0], {}

    def step(self, actions: np.ndarray) -> Any:
        return *self._of([WRONG[self._result] if env == 1 else RIGHT for env in range(self.num_envs)]), {}

    @staticmethod
    def _of(results: list[tuple[Any, ...]]) -> Any:
        seen, *numbers = zip(*results, strict=True)
        return {key: np.array([each[key] for each in seen]) for key in RIGHT[0]}, *map(np.array, numbers)


def batch(num_envs: int, result: str) -> VectorEnv:
    """What ``library: tests.adapters.external.wrong:batch`` names."""
    return Batch(num_envs, result)
