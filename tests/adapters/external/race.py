"""A PettingZoo environment whose agents are of two kinds and leave at known steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo import ParallelEnv


class Race(ParallelEnv):
    """Two hares and a snail that see how far they are. hare_1 leaves after its second step, all are cut at a limit."""

    metadata = {"name": "race"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self, limit: int = 4) -> None:
        self.possible_agents, self._limit = ["hare_0", "hare_1", "snail_0"], limit

    def observation_space(self, agent: str) -> Any:
        if agent.startswith("hare"):
            return Box(0.0, 100.0, (1,), np.float32)
        return Dict({"far": Box(0.0, 100.0, (1,), np.float64), "slow": Box(0, 255, (2,), np.uint8)})

    def action_space(self, agent: str) -> Any:
        return Discrete(3)

    def _seen(self) -> dict[str, Any]:
        return {
            agent: np.array([self._far[agent]], np.float32)
            if agent.startswith("hare")
            else {"far": np.array([self._far[agent]]), "slow": np.array([1, 200], np.uint8)}
            for agent in self.agents
        }

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents, self._step = list(self.possible_agents), 0
        self._far = dict.fromkeys(self.agents, 0.0)
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> Any:
        assert set(actions) == set(self.agents)
        self._step += 1
        for agent, action in actions.items():
            self._far[agent] += float(action)
        seen, paid = self._seen(), {agent: self._far[agent] for agent in self.agents}
        ends = {agent: agent == "hare_1" and self._step == 2 for agent in self.agents}
        cuts = dict.fromkeys(self.agents, self._step == self._limit)
        self.agents = [agent for agent in self.agents if not ends[agent] and not cuts[agent]]
        return seen, paid, ends, cuts, {agent: {} for agent in seen}


def parallel_env(**options: Any) -> Race:
    """What ``id: tests.adapters.external.race`` names for ``library: pettingzoo``."""
    return Race(**options)
