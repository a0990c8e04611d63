"""A parallel environment of PettingZoo whose agents choose pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from tests.adapters.external.pairs import MASKS, PAIRS, SEEN, is_legal


class Pairs(ParallelEnv):
    """Two agents that choose pairs, of which ``masks`` names those that infos allow."""

    metadata = {"name": "pairs"}  # noqa: RUF012, PettingZoo's own form

    def __init__(self, masks: str) -> None:
        self.possible_agents, self._masks = ["a_0", "a_1"], masks

    def observation_space(self, agent: Any) -> Any:
        return SEEN

    def action_space(self, agent: Any) -> Any:
        return PAIRS

    def _of_all(self, value: Any) -> dict[str, Any]:
        return dict.fromkeys(self.agents, value)

    def _shown(self) -> tuple[Any, Any]:
        return self._of_all(np.zeros(1, np.float32)), self._of_all({"action_mask": MASKS[self._masks]})

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        return self._shown()

    def step(self, actions: dict[str, Any]) -> Any:
        assert all(is_legal(action, self._masks) for action in actions.values())
        (seen, infos), ends = self._shown(), self._of_all(False)
        return seen, self._of_all(1.0), ends, ends, infos


def parallel_env(masks: str) -> Pairs:
    """What ``id: tests.adapters.external.pairs_parallel`` names for ``library: pettingzoo``."""
    return Pairs(masks)
