"""A parallel environment of PettingZoo that raises in the call that a test names."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv

from tests.adapters.external.raising import raise_of


class Parallel(ParallelEnv):
    """Two agents; ``call`` raises: "make", "observation_space", "reset", "step" or "close"."""

    metadata = {"name": "raising"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self, call: str) -> None:
        self.possible_agents, self._call = ["a_0", "a_1"], call
        self._raise("make")

    def _raise(self, call: str) -> None:
        if call == self._call:
            raise_of("key")

    def observation_space(self, agent: Any) -> Any:
        self._raise("observation_space")
        return Box(0.0, 9.0, (1,), np.float32)

    def action_space(self, agent: Any) -> Any:
        return Discrete(3)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self._raise("reset")
        self.agents = list(self.possible_agents)
        return self._of_all(np.zeros(1, np.float32)), self._of_all({})

    def _of_all(self, value: Any) -> dict[str, Any]:
        return dict.fromkeys(self.agents, value)

    def step(self, actions: dict[str, Any]) -> Any:
        self._raise("step")
        seen, ends = self._of_all(np.zeros(1, np.float32)), self._of_all(False)
        return seen, self._of_all(1.0), ends, ends, self._of_all({})

    def close(self) -> None:
        self._raise("close")


def parallel_env(call: str) -> Parallel:
    """What ``id: tests.adapters.external.raising_parallel`` names for ``library: pettingzoo``."""
    return Parallel(call)
