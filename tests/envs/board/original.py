"""PettingZoo's games on a board, played side by side with ours."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

MODULES = {"connect_four": "connect_four_v3", "tic_tac_toe": "tictactoe_v3"}


class Original:
    """A game of PettingZoo's.

    Args:
        game: our name of it.
    """

    def __init__(self, game: str) -> None:
        pytest.importorskip("pettingzoo", reason="pettingzoo is not installed; pip install 'warpworld[adapters]'")
        pytest.importorskip("pygame", reason="pygame is not installed; make peers")
        self._env: Any = importlib.import_module(f"pettingzoo.classic.{MODULES[game]}").env()
        self.reset()

    def reset(self) -> None:
        """Begin a game."""
        self._env.reset()
        self._players = list(self._env.possible_agents)

    def seen(self) -> np.ndarray:
        """(2, 2, rows, columns) bool: what both players see."""
        planes = [self._env.observe(player)["observation"].transpose(2, 0, 1) for player in self._players]
        return np.stack(planes).astype(bool)

    def masks(self) -> np.ndarray:
        """(2, choices) bool: what both players may do."""
        return np.stack([self._env.observe(player)["action_mask"] for player in self._players]).astype(bool)

    def step(self, action: int) -> tuple[list[float], bool]:
        """Rewards of both players for the move of the one whose turn it is, and whether the game is over."""
        self._env.step(action)
        ended = [self._env.terminations[player] or self._env.truncations[player] for player in self._players]
        assert ended[0] == ended[1]
        return [float(self._env.rewards[player]) for player in self._players], ended[0]
