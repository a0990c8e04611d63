"""A turn-based environment of PettingZoo whose env 1 alone has a wrong result after a turn."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Discrete
from pettingzoo import AECEnv

from tests.adapters.external.wrong import RIGHT, SPACE, WRONG


class ByTurns(AECEnv):
    """Two players; the results of the second may be wrong."""

    metadata = {"name": "wrong"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self, result: str) -> None:
        self.possible_agents, self._result, self._number = ["a_0", "a_1"], result, 0

    def observation_space(self, agent: Any) -> Any:
        return SPACE

    def action_space(self, agent: Any) -> Any:
        return Discrete(3)

    def observe(self, agent: Any) -> Any:
        return self._seen[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents, self._number = list(self.possible_agents), self._number if seed is None else seed
        self.infos: dict[str, Any] = {}
        self.agent_selection = "a_0"
        self._hold(RIGHT, RIGHT)

    def _hold(self, *results: tuple[Any, ...]) -> None:
        self._seen, self.rewards, self.terminations, self.truncations = (
            dict(zip(self.agents, each, strict=True)) for each in zip(*results, strict=True)
        )

    def step(self, action: Any) -> None:
        self._hold(RIGHT, WRONG[self._result] if self._number == 1 else RIGHT)
        self.agent_selection = "a_1" if self.agent_selection == "a_0" else "a_0"


def env(result: str) -> ByTurns:
    """What ``id: tests.adapters.external.wrong_turns`` names for ``library: pettingzoo``."""
    return ByTurns(result)
