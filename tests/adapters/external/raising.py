"""Envs of Gymnasium that raise an exception, or return a wrong result, in the call that a test names."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, Space
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv


class SpeechlessError(Exception):
    """An exception without a text."""

    def __str__(self) -> str:
        raise RuntimeError


def raise_of(kind: str) -> None:
    """Raise an exception by its name, or end the process."""
    if kind == "package":
        import no_such_package  # noqa: F401
    if kind == "extra":
        raise gymnasium.error.DependencyNotInstalled('Box2D is not there, run `pip install "gymnasium[box2d]"`')
    if kind == "interrupt":
        raise KeyboardInterrupt
    if kind == "death":
        os._exit(3)
    if kind == "speechless":
        raise SpeechlessError
    raise {
        "long": ValueError("x" * 5000),
        "key": KeyError("a\nkey"),
        "decoding": UnicodeDecodeError("ascii", b"\xff", 0, 1, "no letter"),
    }[kind]


class Raising(gymnasium.Env):
    """An env that raises in a call, in its second step.

    Args:
        call: "make", "reset" or "step".
        kind: see ``raise_of``.
    """

    def __init__(self, call: str = "", kind: str = "key", render_mode: str | None = None) -> None:
        self.observation_space, self.action_space = Box(0.0, 9.0, (1,), np.float32), Discrete(3)
        self._call, self._kind = call, kind
        self._raise("make")

    def _raise(self, call: str) -> None:
        if call == self._call:
            raise_of(self._kind)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._raise("reset")
        self._step = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self._step += 1
        if self._step == 2:
            self._raise("step")
        return np.zeros(1, np.float32), 1.0, False, False, {}


def only_one(num_envs: int, number: int, mode: str, **options: Any) -> VectorEnv:
    """What ``library: tests.adapters.external.raising:only_one`` names: of its envs, the one of that number raises."""
    cls = {"sync": SyncVectorEnv, "async": AsyncVectorEnv}[mode]
    makes = [lambda i=i: Raising(**options) if i == number else Raising() for i in range(num_envs)]
    return cls(makes, autoreset_mode=AutoresetMode.SAME_STEP)


RESULTS: dict[str, tuple[Space, Callable[[], Any]]] = {  # spaces of observations, and results of a step
    "reward None": (Box(0.0, 9.0, (1,)), lambda: (np.zeros(1, np.float32), None, False, False, {})),
    "reward NaN": (Box(0.0, 9.0, (1,)), lambda: (np.zeros(1, np.float32), float("nan"), False, False, {})),
    "reward too large": (Box(0.0, 9.0, (1,)), lambda: (np.zeros(1, np.float32), 1e300, False, False, {})),
    "reward of shape (1, 1)": (Box(0.0, 9.0, (1,)), lambda: (np.zeros(1, np.float32), np.ones((1, 1)), 0, False, {})),
    "ends of other types": (Box(0.0, 9.0, (1,)), lambda: (np.zeros(1, np.float32), 1, np.bool_(False), 0, {})),
    "end None": (Box(0.0, 9.0, (1,)), lambda: (np.zeros(1, np.float32), 1.0, None, False, {})),
    "end in words": (Box(0.0, 9.0, (1,)), lambda: (np.zeros(1, np.float32), 1.0, "no", False, {})),
    "old step": (Box(0.0, 9.0, (1,)), lambda: (np.zeros(1, np.float32), 1.0, False, {})),
    "shape": (Box(0.0, 9.0, (1,)), lambda: (np.zeros(2, np.float32), 1.0, False, False, {})),
    "dtype": (Box(0, 255, (1,), np.uint8), lambda: (np.array([0.5]), 1.0, False, False, {})),
    "choice": (Discrete(3), lambda: (7, 1.0, False, False, {})),
    "flag": (MultiBinary(2), lambda: (np.array([2, 0], np.int8), 1.0, False, False, {})),
    "integer": (Box(0, 2**40, (1,), np.int64), lambda: (np.array([2**24 + 1]), 1.0, False, False, {})),
    "even integer": (Box(0, 2**40, (1,), np.int64), lambda: (np.array([2**24 + 2]), 1.0, False, False, {})),
    "unsigned": (Box(0, 2**64 - 1, (1,), np.uint64), lambda: (np.array([2**64 - 1], np.uint64), 1.0, False, False, {})),
    "float64": (Box(-np.inf, np.inf, (1,), np.float64), lambda: (np.array([1e300]), 1.0, False, False, {})),
}


class Wrong(gymnasium.Env):
    """An env whose steps return what ``RESULTS`` names."""

    def __init__(self, result: str, render_mode: str | None = None) -> None:
        self.observation_space, self._result = RESULTS[result]
        self.action_space = Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(self.observation_space.shape or (), self.observation_space.dtype), {}

    def step(self, action: Any) -> Any:
        return self._result()
