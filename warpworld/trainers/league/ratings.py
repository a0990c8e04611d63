"""Elo: what a rating predicts for a game, how games change ratings, and the ratings that fit a whole table."""

from __future__ import annotations

import math

import numpy as np

START = 1000.0
SCALE = 400.0  # points that make ten to one


def expected_score(own: float, other: float) -> float:
    """Expected score against another, 1 a win and 0 a loss: 1 / (1 + 10^((other - own) / 400)) (Elo 1978)."""
    return 1.0 / (1.0 + 10.0 ** ((other - own) / SCALE))


def fitted_ratings(scores: np.ndarray, games: np.ndarray) -> np.ndarray:
    """The most likely Elo ratings for a table of games, with one drawn game added to each pair that met.

    A draw counts as half a win and half a loss. The drawn game keeps the rating of who won all its games finite. The
    likelihood is that of Bradley and Terry's model, climbed by the minorise-maximise steps of Hunter (2004, "MM
    algorithms for generalized Bradley-Terry models", section 2).

    Args:
        scores: (n, n), points that the row won against the column.
        games: (n, n), games of the row against the column; symmetric, as ``scores + scores.T``.

    Returns:
        (n,) float64, with mean 1000.
    """
    # games with the drawn ones added
    met = games > 0
    played = games + met
    won = (scores + 0.5 * met).sum(1)
    # strengths with geometric mean 1, in minorise-maximise steps
    strength = np.ones(len(scores))
    for _ in range(100_000):
        together = strength[:, None] + strength[None, :]
        new = np.divide(won, (played / together).sum(1), out=np.ones_like(won), where=won > 0)
        new /= np.exp(np.log(new).mean())
        change = np.abs(np.log(new / strength)).max()
        strength = new
        if change < 1e-12:
            break
    # strengths on Elo's scale
    ratings: np.ndarray = START + SCALE / math.log(10.0) * np.log(strength)
    return ratings
