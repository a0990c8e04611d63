"""Envs whose actions are a Box of any dtype, and which keep what reaches them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv

RECEIVED: list[np.ndarray] = []


def box_of(dtype: str) -> Box:
    """A Box of two numbers whose bounds are hard to hit: ends of the dtype, or numbers that no float32 is."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return Box(np.array([[0.1, -0.3]], kind), np.array([[0.7, 0.3]], kind), dtype=kind.type)
    if kind.kind == "b":
        return Box(0, 1, (1, 2), np.bool_)
    limits = np.iinfo(kind)
    return Box(np.array([[limits.min, 0]], kind), np.array([[limits.max, 3]], kind), dtype=kind.type)


class Boxes(gymnasium.Env):
    """Agents see a random number; each action is kept."""

    def __init__(self, dtype: str) -> None:
        self.observation_space, self.action_space = Box(-1.0, 1.0, (1,)), box_of(dtype)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._seen(), {}

    def _seen(self) -> np.ndarray:
        return self.np_random.uniform(-1.0, 1.0, 1).astype(np.float32)

    def step(self, action: np.ndarray) -> Any:
        RECEIVED.append(np.array(action))
        return self._seen(), 0.0, False, False, {}


def boxes(num_envs: int, dtype: str) -> SyncVectorEnv:
    """What ``library: tests.adapters.external.boxes:boxes`` names."""
    return SyncVectorEnv([lambda: Boxes(dtype)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
