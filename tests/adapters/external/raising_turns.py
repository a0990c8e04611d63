"""A turn-based environment of PettingZoo that raises in the call that a test names."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import AECEnv

from tests.adapters.external.raising import raise_of


class ByTurns(AECEnv):
    """Two players; ``call`` raises, or lacks: "observe", "step", "agent_selection", "rewards"."""

    metadata = {"name": "raising"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self, call: str) -> None:
        self.possible_agents, self._call = ["a_0", "a_1"], call

    def observation_space(self, agent: Any) -> Any:
        return Box(0.0, 9.0, (1,), np.float32)

    def action_space(self, agent: Any) -> Any:
        return Discrete(3)

    def observe(self, agent: Any) -> Any:
        if self._call == "observe" and agent == "a_1":
            raise_of("key")
        return np.zeros(1, np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents = list(self.possible_agents)
        self.rewards: Any = dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = (dict.fromkeys(self.agents, False) for _ in range(2))
        self.infos: dict[str, Any] = {}
        self.agent_selection: Any = "a_0"

    def step(self, action: Any) -> None:
        if self._call == "step":
            raise_of("key")
        if self._call in ("agent_selection", "rewards"):
            setattr(self, self._call, None)


def env(call: str) -> ByTurns:
    """What ``id: tests.adapters.external.raising_turns`` names for ``library: pettingzoo``."""
    return ByTurns(call)
