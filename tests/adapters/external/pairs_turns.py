"""A turn-based environment of PettingZoo whose players choose pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from pettingzoo import AECEnv

from tests.adapters.external.pairs import MASKS, PAIRS, SEEN, is_legal


class Pairs(AECEnv):
    """Two players that choose pairs by turns, of which ``masks`` names those that infos allow."""

    metadata = {"name": "pairs"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self, masks: str) -> None:
        self.possible_agents, self._masks = ["a_0", "a_1"], masks

    def observation_space(self, agent: Any) -> Any:
        return SEEN

    def action_space(self, agent: Any) -> Any:
        return PAIRS

    def observe(self, agent: Any) -> Any:
        return np.zeros(1, np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = (dict.fromkeys(self.agents, False) for _ in range(2))
        self.infos = {agent: {"action_mask": MASKS[self._masks]} for agent in self.agents}
        self.agent_selection = self.agents[0]

    def step(self, action: Any) -> None:
        assert is_legal(action, self._masks)
        self.rewards = {agent: float(agent == self.agent_selection) for agent in self.agents}
        self.agent_selection = self.agents[1 - self.agents.index(self.agent_selection)]


def env(masks: str) -> Pairs:
    """What ``id: tests.adapters.external.pairs_turns`` names for ``library: pettingzoo``."""
    return Pairs(masks)
