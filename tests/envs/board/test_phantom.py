"""Phantom tic-tac-toe beside its rules written down in Python: what players know, tries that are refused, and ends."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.packaged import packaged

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@dataclass
class Game:
    """A game by the rules of OpenSpiel's ``phantom_ttt``."""

    marks: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    tries: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    mover: int = 0

    def observation(self, player: int) -> np.ndarray:
        """(10, 3, 3) bool: each try in turn, then the other's marks that the player has run into."""
        planes = np.zeros((10, 9), bool)
        for number, cell in enumerate(self.tries[player]):
            planes[number, cell] = True
            planes[9, cell] = cell not in self.marks[player]
        return planes.reshape(10, 3, 3)

    def mask(self, player: int) -> np.ndarray:
        """(9,) bool."""
        return np.array([player == self.mover and cell not in self.tries[player] for cell in range(9)])

    def step(self, cell: int) -> tuple[list[float], bool, str]:
        """Rewards, whether the game is over, and what happened."""
        player, other = self.mover, 1 - self.mover
        loss = [-1.0 if k == player else 0.0 for k in range(2)]
        if cell in self.tries[player]:
            return loss, True, "twice"
        self.tries[player].append(cell)
        if cell in self.marks[other]:
            return [0.0, 0.0], False, "refused"
        self.marks[player].add(cell)
        self.mover = other
        if any(self.marks[player] >= set(line) for line in LINES):
            return [1.0 if k == player else -1.0 for k in range(2)], True, f"won by {player}"
        return [0.0, 0.0], len(self.marks[0]) + len(self.marks[1]) == 9, "marked"


@pytest.mark.long
def test_games_by_the_rules() -> None:
    """Players try cells at random, now and then one that they have tried; both see and may do what the rules say."""
    world, generator, happened = packaged("phantom_tic_tac_toe", 1, device="cpu"), np.random.default_rng(3), list[str]()
    world.reset()
    for _ in range(150):
        game, over = Game(), False
        while not over:
            for player in range(2):
                np.testing.assert_array_equal(world.data.numpy("observations")[0, player], game.observation(player))
                np.testing.assert_array_equal(world.data.numpy("action_mask")[0, player], game.mask(player))
            mover, tried = game.mover, game.tries[game.mover]
            repeats = bool(tried) and generator.random() < 0.03
            cell = int(generator.choice(tried if repeats else np.flatnonzero(game.mask(mover))))
            world["actions"][:, mover], world["actions"][:, 1 - mover] = cell, int(generator.integers(9))
            world.step()
            rewards, over, what = game.step(cell)
            assert world["rewards"][0].tolist() == rewards and bool(world["terminated"][0]) == over, what
            happened.append("drawn" if over and what == "marked" else what)
    assert set(happened) == {"marked", "refused", "twice", "won by 0", "won by 1", "drawn"}
