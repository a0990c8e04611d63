"""A vector environment that steps only when a test lets it: each part waits for its own event."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

MINUTE = 60.0  # keeps a fault from hanging

may_step = [threading.Event(), threading.Event()]  # of both parts
has_stepped = [threading.Event(), threading.Event()]
parts = list["Waiting"]()


class Waiting(VectorEnv):
    """Shows how many steps it has taken; one of a single env only shows its spaces."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int) -> None:
        self.num_envs, self.steps = num_envs, 0
        self.single_observation_space, self.single_action_space = Box(0.0, 1e6, (1,), np.float32), Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        if num_envs > 1:
            parts.append(self)

    def _seen(self) -> np.ndarray:
        return np.full((self.num_envs, 1), self.steps, np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self._seen(), {}

    def step(self, actions: np.ndarray) -> Any:
        number = parts.index(self)
        assert may_step[number].wait(MINUTE), f"part {number} was never allowed to step"
        self.steps += 1
        has_stepped[number].set()
        no = np.zeros(self.num_envs, np.bool_)
        return self._seen(), np.ones(self.num_envs), no, no, {}


def waiting(num_envs: int) -> Waiting:
    """Make what ``library: tests.adapters.external.waiting:waiting`` names."""
    return Waiting(num_envs)
