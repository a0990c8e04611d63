"""A turn-based PettingZoo environment whose trajectory can be counted on fingers."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo import AECEnv


class Turns(AECEnv):
    """Three players add to a sum; the mask allows only 0 and the player's own number; a 0 drops out.

    Who adds pays 1 to the others. The last two end with a sum of at least 4.
    """

    metadata = {"name": "turns"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self) -> None:
        self.possible_agents = ["player_0", "player_1", "player_2"]

    def observation_space(self, agent: str) -> Any:
        return Dict({"observation": Box(0.0, 100.0, (2,), np.float32), "action_mask": Box(0, 1, (4,), np.int8)})

    def action_space(self, agent: str) -> Any:
        return Discrete(4)

    def observe(self, agent: str) -> Any:
        mask = np.zeros(4, np.int8)
        mask[[0, int(agent[-1]) + 1]] = 1
        return {"observation": np.array([self._sum, int(agent[-1])], np.float32), "action_mask": mask}

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents, self._sum = list(self.possible_agents), 0
        self.rewards, self._cumulative_rewards = (dict.fromkeys(self.agents, 0.0) for _ in range(2))
        self.terminations, self.truncations = (dict.fromkeys(self.agents, False) for _ in range(2))
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[0]

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert self.action_space(agent).contains(action) and self.observe(agent)["action_mask"][action]
        self._sum += int(action)
        self.rewards = {each: float(action > 0 and each != agent) for each in self.agents}
        self.terminations[agent] = action == 0
        if self._sum >= 4:
            self.terminations = dict.fromkeys(self.agents, True)
        self._accumulate_rewards()
        self.agent_selection = self.agents[(self.agents.index(agent) + 1) % len(self.agents)]
        self._deads_step_first()


def env() -> Turns:
    """What ``id: tests.adapters.external.turns`` names for ``library: pettingzoo``."""
    return Turns()
