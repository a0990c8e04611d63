"""The coin game beside its rules written out in Python; the next coin is taken from the world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from tests.packaged import packaged

pytestmark = pytest.mark.cpu_backend

MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))
ENVS, STEPS = 12, 100


@dataclass
class Game:
    """One game: places are (x, y)."""

    side: int
    places: list[tuple[int, int]]
    coin: tuple[int, int]
    is_red: bool

    def step(self, actions: list[int]) -> tuple[list[float], list[bool]]:
        """Move both; what they earn, and who takes the coin."""
        for k, action in enumerate(actions):
            x, y = self.places[k]
            dx, dy = MOVES[action]
            self.places[k] = ((x + dx) % self.side, (y + dy) % self.side)
        takes = [self.places[0] == self.coin, self.places[1] == self.coin]
        takes[1] &= not takes[0]
        earned = [float(each) for each in takes]
        owner = 0 if self.is_red else 1
        if takes[1 - owner]:
            earned[owner] -= 2.0
        return earned, takes

    def planes(self) -> np.ndarray:
        """(4, side, side) red, blue, a red coin, a blue coin."""
        seen = np.zeros((4, self.side, self.side))
        for k, (x, y) in enumerate((*self.places, self.coin)):
            seen[k if k < 2 else 2 + (not self.is_red), y, x] = 1
        return seen


@pytest.mark.parametrize("side", [2, 3, 5])
def test_games_follow_the_rules(side: int) -> None:
    world = packaged("coin_game", ENVS, device="cpu", seed=5, side=side, episode_length=STEPS + 1)
    world.reset()
    view, random = world.data.numpy, np.random.default_rng(7)

    def place(name: str, env: int) -> tuple[int, int]:
        x, y = view(name)[env]
        return int(x), int(y)

    def placed(env: int) -> list[tuple[int, int]]:
        return [(int(view("x")[env, k]), int(view("y")[env, k])) for k in range(2)]

    games = [Game(side, placed(env), place("coin", env), bool(view("is_red")[env])) for env in range(ENVS)]
    assert all(len({*game.places, game.coin}) == 3 for game in games)
    counts = np.zeros((2, ENVS, 2))
    for _ in range(STEPS):
        actions = random.integers(0, 4, (ENVS, 2))
        world["actions"] = torch.from_numpy(actions[:, :, None].astype(np.int32))
        world.step()
        for env, game in enumerate(games):
            was_red, old = game.is_red, game.coin
            earned, takes = game.step(actions[env].tolist())
            assert view("rewards")[env].tolist() == earned and placed(env) == game.places
            counts[0, env] += takes
            counts[1, env, 0 if was_red else 1] += takes[0 if was_red else 1]
            if any(takes):
                game.coin, game.is_red = place("coin", env), not was_red
                assert game.coin not in game.places
            assert place("coin", env) == (game.coin if any(takes) else old) and view("is_red")[env] == game.is_red
            assert all((view("observations")[env, k] == game.planes()).all() for k in range(2))
    assert (view("taken") == counts[0]).all() and (view("own_taken") == counts[1]).all() and counts.all(2).any()


def test_coins_lie_on_any_free_cell() -> None:
    world = packaged("coin_game", 30_000, device="cpu", seed=1)
    world.reset()
    view = world.data.numpy
    cells = [view("x")[:, 0] + 3 * view("y")[:, 0], view("x")[:, 1] + 3 * view("y")[:, 1]]
    cells.append(view("coin")[:, 0] + 3 * view("coin")[:, 1])
    counts = np.zeros((9, 9, 9))
    np.add.at(counts, tuple(cells), 1)
    legal = np.array([[[len({i, j, k}) == 3 for k in range(9)] for j in range(9)] for i in range(9)])
    assert not counts[~legal].any()
    expected = 30_000 / legal.sum()
    statistic = ((counts[legal] - expected) ** 2 / expected).sum()  # 503 degrees of freedom
    assert abs(statistic - 503) < 5 * np.sqrt(2 * 503)
    assert abs(view("is_red").mean() - 0.5) < 0.015
