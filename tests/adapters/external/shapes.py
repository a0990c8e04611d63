"""A vector environment whose results lack rows that some envs need."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv


class Shapes(VectorEnv):
    """All envs end in each step. ``fault`` is what is wrong: "mask", "final" or "number"."""

    def __init__(self, num_envs: int, fault: str, value: Any) -> None:
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.num_envs, self._fault, self._value = num_envs + (fault == "number"), fault, value
        self.single_observation_space, self.single_action_space = Box(0.0, 1.0, (2,)), Discrete(3)

    def _seen(self) -> np.ndarray:
        return np.zeros((self.num_envs, 2), np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return self._seen(), {"action_mask": self._value} if self._fault == "mask" else {}

    def step(self, actions: np.ndarray) -> Any:
        ends = np.ones(self.num_envs, np.bool_)
        return self._seen(), ends.astype(np.float32), ends, ~ends, {"final_obs": self._value}


def shapes(num_envs: int, fault: str, value: Any = None) -> Shapes:
    """What ``library: tests.adapters.external.shapes:shapes`` names."""
    return Shapes(num_envs, fault, value)
