"""Environments whose steps wait for tests: a kernel's, and a Python phase's."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from warpworld import Array, Environment, Group

MINUTE = 60.0  # keeps a fault from hanging

gates = [threading.Event() for _ in range(4)]  # of the envs of ``Gated``


class Uneven(Environment):
    """One agent an env, which waits in ``step`` until the env's ``gate`` is open; action 2 is a fault."""

    source = "uneven.cu"

    def groups(self) -> Sequence[Group]:
        return [Group("agent", 1, Box(0.0, 2.0**24, (1,)), Discrete(3))]

    def arrays(self) -> Sequence[Array]:
        return [Array("gate", "int32", per="env", initial=1, on_reset="keep"), Array("sum", "uint32", per="env")]


class Gated(VectorEnv):
    """One env of another library, whose seed is the number of its gate; action 2 is a fault. It shows its steps."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int) -> None:
        self.num_envs, self.steps, self._gate = num_envs, 0, threading.Event()
        self.single_observation_space, self.single_action_space = Box(0.0, 1e6, (1,), np.float32), Discrete(3)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _seen(self) -> np.ndarray:
        return np.full((self.num_envs, 1), self.steps, np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self._gate = gates[seed]
        return self._seen(), {}

    def step(self, actions: np.ndarray) -> Any:
        if actions[0] == 2:
            raise ValueError("not that way")
        assert self._gate.wait(MINUTE), "the gate was never opened"
        self.steps += 1
        no = np.zeros(self.num_envs, np.bool_)
        return self._seen(), np.ones(self.num_envs), no, no, {}


def gated(num_envs: int) -> Gated:
    """Make what ``library: tests.adapters.uneven:gated`` names."""
    return Gated(num_envs)
