"""Policies judged by perfect play of connect four."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from warpworld.environment import Probabilities
from warpworld.envs.board.solving.positions import PHASES, positions, solver
from warpworld.envs.board.solving.solver import dropped, wins

NAMES = ("first", "second")
SEED = 14  # of the moves of games against perfect play


def judged(probabilities: Mapping[str, Probabilities]) -> dict[str, float]:
    """Measures of how both players' policies choose, see ``Environment.measure``.

    kept_opening, kept_middle, kept_end: probability of a move that keeps the position's value, which is a win, a draw
    or a loss, mean over the positions of a phase. first_won, first_lost: shares of games that the first player wins
    and loses against perfect play, from those openings that it can win; see ``against_perfect_play``.

    Raises:
        BuildError: the C++ does not compile here.
    """
    found = {f"kept_{phase}": _kept(phase, probabilities) for phase in PHASES}
    results = against_perfect_play(probabilities["first"])
    return {**found, "first_won": float(np.mean(results > 0)), "first_lost": float(np.mean(results < 0))}


def against_perfect_play(first: Probabilities) -> np.ndarray:
    """Games of the first player against perfect play: (games,) 1 for a win, 0 for a draw, -1 for a loss.

    They begin in openings of 14 stones that the first player can win, one game each. The second player makes a move of
    the highest score: it wins as soon and loses as late as it can. Chance decides between equal moves.
    """
    generator = np.random.default_rng(SEED)
    opening = positions("opening")
    is_start = (np.count_nonzero(opening.cells, axis=(1, 2)) % 2 == 0) & (opening.values == 1)
    cells = opening.cells[is_start]
    results, on = np.zeros(len(cells)), np.arange(len(cells))
    player = 0
    while len(on):
        masks = cells[on, 0] == 0
        shares = _chosen(first, cells[on]) if player == 0 else _of_best(solver().move_scores(cells[on]))
        moves = np.array([generator.choice(len(row), p=row / row.sum()) for row in np.where(masks, shares, 0.0)])
        cells[on] = dropped(cells[on], moves)
        is_won = wins(cells[on])
        results[on[is_won]] = 1 if player == 0 else -1
        on = on[~is_won & (cells[on, 0] == 0).any(1)]
        player = 1 - player
    return results


def _kept(phase: str, probabilities: Mapping[str, Probabilities]) -> float:
    """Mean probability of a move that keeps the value."""
    of_phase = positions(phase)
    player = np.count_nonzero(of_phase.cells, axis=(1, 2)) % 2
    shares = [
        (_chosen(probabilities[name], of_phase.cells[player == k]) * of_phase.keeps[player == k]).sum(1)
        for k, name in enumerate(NAMES)
    ]
    return float(np.concatenate(shares).mean())


def _chosen(policy: Probabilities, cells: np.ndarray) -> np.ndarray:
    """(n, columns) float64: how a policy chooses in positions in which its player moves."""
    own = 1 + np.count_nonzero(cells, axis=(1, 2))[:, None, None] % 2
    seen = np.stack((cells == own, cells == 3 - own), 1)
    return policy(seen, cells[:, 0] == 0)


def _of_best(scores: np.ndarray) -> np.ndarray:
    """(n, columns): equal shares of the moves with the highest score."""
    return (scores == scores.max(1, keepdims=True)).astype(np.float64)
