"""A parallel environment of PettingZoo whose env 1 alone returns a wrong result."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Discrete
from pettingzoo import ParallelEnv

from tests.adapters.external.wrong import RIGHT, SPACE, WRONG


class Parallel(ParallelEnv):
    """Two agents; the results of the second may be wrong."""

    metadata = {"name": "wrong"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self, result: str) -> None:
        self.possible_agents, self._result, self._number = ["a_0", "a_1"], result, 0

    def observation_space(self, agent: Any) -> Any:
        return SPACE

    def action_space(self, agent: Any) -> Any:
        return Discrete(3)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents, self._number = list(self.possible_agents), self._number if seed is None else seed
        return {agent: RIGHT[0] for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> Any:
        results = RIGHT, WRONG[self._result] if self._number == 1 else RIGHT
        return *(dict(zip(self.agents, each, strict=True)) for each in zip(*results, strict=True)), {}


def parallel_env(result: str) -> Parallel:
    """What ``id: tests.adapters.external.wrong_parallel`` names for ``library: pettingzoo``."""
    return Parallel(result)
