"""Elo, match-making and the pool's rule, against numbers computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from warpworld.trainers.league.match_making import chances, draw
from warpworld.trainers.league.opponents import Opponent, thinned
from warpworld.trainers.league.ratings import expected_score, fitted_ratings

# --- Elo --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [(1000, 1000, 0.5), (1400, 1000, 10 / 11), (1000, 1400, 1 / 11), (1800, 1000, 100 / 101), (1200, 1000, 0.7597469)],
)
def test_expected_score(own: float, other: float, expected: float) -> None:
    assert expected_score(own, other) == pytest.approx(expected, abs=1e-7)


def table(scores: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    won = np.array(scores, dtype=np.float64)
    return won, won + won.T


def test_two_players_have_the_rating_that_their_games_say() -> None:
    """9.5 of 11 games, the drawn one included: strengths as 9.5 to 1.5, so 400 * log10(19 / 3) points apart."""
    ratings = fitted_ratings(*table([[0, 9], [1, 0]]))
    assert ratings[0] - ratings[1] == pytest.approx(400 * np.log10(19 / 3), abs=1e-6)
    assert ratings.mean() == pytest.approx(1000)


def test_equal_players_are_equal_and_an_unbeaten_one_is_finite() -> None:
    assert fitted_ratings(*table([[0, 5, 5], [5, 0, 5], [5, 5, 0]])) == pytest.approx(np.full(3, 1000.0))
    unbeaten = fitted_ratings(*table([[0, 50], [0, 0]]))
    assert unbeaten[0] - unbeaten[1] == pytest.approx(400 * np.log10(50.5 / 0.5), abs=1e-6)


def test_fitted_ratings_are_the_most_likely() -> None:
    """The gradient of the likelihood is 0: everybody won as much as expected. Not all pairs have met."""
    generator = np.random.default_rng(5)
    games = np.triu(generator.integers(1, 40, (6, 6)), 1)
    games[0, 3] = games[1, 4] = 0
    won = np.floor(games * generator.random((6, 6)))
    scores = won + (games - won).T * (games.T > 0)
    games = games + games.T
    ratings = fitted_ratings(scores, games)
    met = games > 0
    expected = [[expected_score(a, b) for b in ratings] for a in ratings]
    surplus = (scores + 0.5 * met - (games + met) * np.array(expected)).sum(1)
    assert np.abs(surplus).max() < 1e-6


# --- match-making -----------------------------------------------------------------------------------------------------


def test_hard_opponents_are_met_more_often() -> None:
    assert chances([0.5, 0.75, 1.0, 0.0], "prioritised") == pytest.approx(
        [0.25 / 1.3125, 0.0625 / 1.3125, 0, 1 / 1.3125]
    )
    assert chances([0.5, 0.75, 1.0, 0.0], "uniform") == [0.25] * 4
    assert chances([1.0, 1.0], "prioritised") == [0.5, 0.5]


def test_win_rates_forget() -> None:
    opponent = Opponent("random", "random")
    assert opponent.win_rate == 0.5
    opponent.remember(1.0)
    assert (opponent.met, opponent.won, opponent.win_rate) == (1.0, 1.0, 1.5 / 2)
    opponent.remember(0.0)
    assert opponent.win_rate == pytest.approx((0.9 + 0.5) / (1.9 + 1))
    for _ in range(200):
        opponent.remember(0.0)
    assert opponent.win_rate == pytest.approx(0.5 / 11, abs=1e-6)


def test_draws_follow_the_chances_and_do_not_repeat_themselves() -> None:
    generator = torch.Generator().manual_seed(1)
    drawn = [draw([0.5, 0.0, 0.3, 0.2], 2, generator) for _ in range(2000)]
    assert all(len(set(pair)) == 2 and 1 not in pair for pair in drawn)
    first = torch.tensor([pair[0] for pair in drawn]).bincount(minlength=4) / 2000
    assert first.tolist() == pytest.approx([0.5, 0.0, 0.3, 0.2], abs=0.04)
    assert draw([1.0], 3, generator) == [0, 0, 0]
    assert set(draw([0.5, 0.5, 0.0], 3, generator)) <= {0, 1}


# --- the pool ---------------------------------------------------------------------------------------------------------


def test_the_pool_stays_spread_over_the_training() -> None:
    assert thinned([0, 20, 40], 3) == [0, 20, 40]
    assert thinned([0, 20, 40, 60], 3) == [0, 40, 60]
    assert thinned([0, 40, 60, 80], 3) == [0, 40, 80]
    assert thinned([0, 20], 1) == [20]
    assert thinned([0, 20, 40, 60], 2) == [0, 60]
    kept: list[int] = []
    for iteration in range(0, 2000, 10):
        kept = thinned([*kept, iteration], 8)
        gaps = np.diff(kept)
        assert kept[0] == 0
        assert kept[-1] == iteration
        assert len(kept) < 8 or gaps.max() <= 3 * iteration / 7
