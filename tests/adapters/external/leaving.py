"""A PettingZoo environment whose agents die, or are cut, at steps that a test chooses; each step pays 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv


class Leaving(ParallelEnv):
    """Three walkers that see the step. ``died`` and ``cut`` give an agent's last step; all are cut at ``limit``."""

    metadata = {"name": "leaving"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self, limit: int, died: dict[str, int] | None = None, cut: dict[str, int] | None = None) -> None:
        self.possible_agents = [f"walker_{number}" for number in range(3)]
        self._limit, self._died, self._cut = limit, died or {}, cut or {}

    def observation_space(self, agent: str) -> Any:
        return Box(0.0, 100.0, (1,), np.float32)

    def action_space(self, agent: str) -> Any:
        return Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents, self._step = list(self.possible_agents), 0
        return self._seen(), {agent: {} for agent in self.agents}

    def _seen(self) -> dict[str, np.ndarray]:
        return {agent: np.array([self._step], np.float32) for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> Any:
        self._step += 1
        seen, paid, infos = self._seen(), dict.fromkeys(self.agents, 1.0), {agent: {} for agent in self.agents}
        dies = {agent: self._died.get(agent) == self._step for agent in self.agents}
        cuts = {agent: not dies[agent] and self._step in (self._cut.get(agent), self._limit) for agent in self.agents}
        self.agents = [agent for agent in self.agents if not dies[agent] and not cuts[agent]]
        return seen, paid, dies, cuts, infos


def parallel_env(**options: Any) -> Leaving:
    """The environment that ``id: tests.adapters.external.leaving`` names for ``library: pettingzoo``."""
    return Leaving(**options)
