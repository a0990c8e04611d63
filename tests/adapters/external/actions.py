"""Gymnasium envs with an action space of any kind, which keep what reaches them and may mask it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, OneOf, Sequence, Space, Text, Tuple
from gymnasium.vector import AutoresetMode, SyncVectorEnv

RECEIVED: list[Any] = []
GRID = np.outer([1, 0, 1], [0, 1])  # choices 0 and 2 of the first part, 1 of the second
CROSS = np.array([[1, 0], [0, 0], [0, 1]])  # pairs that no masks of two parts allow

SPACES: dict[str, Space] = {
    "tuple": Tuple((Discrete(3, start=5), MultiBinary(1), MultiDiscrete([2, 3]))),
    "dict": Dict({"move": Discrete(3), "aim at": Dict({"x": Discrete(2, start=-1)})}),
    "boxes": Tuple((Box(-1.0, 1.0, (2,), np.float32), Box(0.1, 0.2, (), np.float64))),
    "whole": Dict({"a": Box(0, 3, (1,), np.int8), "b": Box(-2, 2, (2,), np.int64)}),
    "mixed": Tuple((Discrete(2), Box(0.0, 1.0, (1,)))),
    "numbers": Dict({"whole": Box(-2, 2, (2,), np.int8), "others": Box(0.1, 0.2, (), np.float64)}),
    "several": Dict(
        {
            "go to": Tuple((MultiBinary((2, 1)), Box(-1.0, 1.0, (2, 2)))),
            "at": Discrete(3, start=-1),
            "go_to_1": Box(0, 255, (1,), np.uint8),
        }
    ),
    "half": Dict({"move": Discrete(2), "words": Text(3)}),
    "text": Text(3),
    "sequence": Sequence(Discrete(2)),
    "graph": Graph(Box(0.0, 1.0, (1,)), None),
    "one of": OneOf((Discrete(2), Discrete(3))),
    "many": Discrete(2**24 + 1),
    "shifted": Discrete(3, start=2**40),
    "pair": MultiDiscrete([3, 2]),
    "cells": Box(np.array([4, 0]), np.array([6, 1]), dtype=np.int32),
    "box": Box(0.0, 1.0, (2,), np.float32),
}
MASKS: dict[str, Any] = {
    "tuple": (np.array([0, 1, 0]), np.array([1]), (np.array([0, 1]), np.array([1, 0, 0]))),
    "dict": {"move": np.array([1, 0, 0]), "aim at": {"x": np.array([0, 1])}},
    "joined": np.array([1, 0, 1, 0, 1]),
    "grid": GRID,
    "flat grid": CROSS.ravel(),
    "cross": CROSS,
    "wrong": np.ones(7),
}


class Acts(gymnasium.Env):
    """Agents see nothing but zeros. ``masks`` names a mask of all steps, in infos or in the observation."""

    def __init__(self, space: str, masks: str = "", seen: bool = False) -> None:
        self.action_space, self._mask, self._seen = SPACES[space], MASKS.get(masks), seen
        self.observation_space: Space = Box(0.0, 1.0, (1,), np.float32)
        if seen:
            mask = MultiBinary(self._mask.shape)
            self.observation_space = Dict({"numbers": self.observation_space, "action_mask": mask})

    def _shown(self) -> tuple[Any, dict[str, Any]]:
        zeros = np.zeros(1, np.float32)
        if self._seen:
            return {"numbers": zeros, "action_mask": self._mask.astype(np.int8)}, {}
        return zeros, {} if self._mask is None else {"action_mask": self._mask}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._shown()

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        RECEIVED.append(action)
        seen, info = self._shown()
        return seen, 0.0, False, False, info


def acts(num_envs: int, **options: Any) -> SyncVectorEnv:
    """What ``library: tests.adapters.external.actions:acts`` names."""
    return SyncVectorEnv([lambda: Acts(**options)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
