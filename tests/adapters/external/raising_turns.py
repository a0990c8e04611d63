"""A turn-based environment of PettingZoo that raises in the call that a test names."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import AECEnv

from tests.adapters.external.raising import raise_of


class ByTurns(AECEnv):
    """Two players; ``call`` raises, or lacks: "observe", "step", "agent_selection", "rewards".

    "agents" and "terminations" raise after the first step; with "late" after the empty turn of an agent that ended.
    """

    metadata = {"name": "raising"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self, call: str) -> None:
        self.possible_agents, self._call = ["a_0", "a_1", *(["a_2"] if call.endswith("late") else [])], call

    def observation_space(self, agent: Any) -> Any:
        return Box(0.0, 9.0, (1,), np.float32)

    def action_space(self, agent: Any) -> Any:
        return Discrete(3)

    def observe(self, agent: Any) -> Any:
        if self._call == "observe" and agent == "a_1":
            raise_of("key")
        return np.zeros(1, np.float32)

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents = ["a_0", "a_1"]
        self.rewards: Any = dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = (dict.fromkeys(self.agents, False) for _ in range(2))
        self.infos: dict[str, Any] = {}
        self.agent_selection: Any = "a_0"

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "__dict__").get("lost"):
            raise_of("key")
        return super().__getattribute__(name)

    def step(self, action: Any) -> None:
        if self._call in ("agents", "terminations"):
            self.lost = self._call
        if self._call.endswith("late"):
            self._end(action)
        if self._call == "step":
            raise_of("key")
        if self._call in ("agent_selection", "rewards"):
            setattr(self, self._call, None)

    def _end(self, action: Any) -> None:
        """End the first player, which then makes an empty turn."""
        self.terminations["a_0"] = True
        if action is None:
            self.agents, self.lost = ["a_1", "a_2"], self._call.split()[0]


def env(call: str) -> ByTurns:
    """What ``id: tests.adapters.external.raising_turns`` names for ``library: pettingzoo``."""
    return ByTurns(call)
