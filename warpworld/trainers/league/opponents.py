"""Opponents: past selves, policies of other runs, scripts, and random actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from warpworld.trainers.league.ratings import START

KINDS = ("past", "frozen", "script", "random")
MEMORY = 0.9  # what a meeting still counts an iteration with a meeting later

Weights = Mapping[str, Tensor]


@dataclass
class Opponent:
    """A player that is met in slots.

    Attributes:
        name: of a past self POLICY-ITERATION; else as in the configuration.
        kind: one of KINDS.
        iteration: that a past self is of; 0 for others.
        rating: its Elo.
        games: episodes that were finished against it.
        met: iterations in which it was met in a slot, old ones counting less.
        won: sum of the present selves' mean scores in these, likewise.
        weights: on the host; None for scripts and random actions.
        file: where the weights lie in the run's ``league`` folder; empty where there are none.
        digest: SHA-256 of that file.
    """

    name: str
    kind: str
    iteration: int = 0
    rating: float = START
    games: int = 0
    met: float = 0.0
    won: float = 0.0
    weights: Weights | None = None
    file: str = ""
    digest: str = ""

    @property
    def win_rate(self) -> float:
        """Recent win rate of the present selves against it; it begins as half a win in one match."""
        return (self.won + 0.5) / (self.met + 1.0)

    def remember(self, score: float) -> None:
        """Take in the present selves' mean score in one slot and iteration."""
        self.met, self.won = MEMORY * self.met + 1.0, MEMORY * self.won + score

    def record(self) -> dict[str, Any]:
        """A record for checkpoints: all but the weights, which lie in their file."""
        names = ("name", "kind", "iteration", "rating", "games", "met", "won", "file", "digest")
        return {name: getattr(self, name) for name in names}


def thinned(iterations: Sequence[int], size: int) -> list[int]:
    """Choose the past selves that stay when the pool is full: ``size`` of them, spread over the whole training.

    The first and the newest stay. As long as there are too many, that one goes whose neighbours in time lie closest
    together, the oldest such. A pool of one keeps the newest.

    Args:
        iterations: of all past selves, ascending.
        size: of the pool, at least 1.
    """
    kept = list(iterations)
    while len(kept) > size:
        if len(kept) == 2:
            return kept[1:]
        inner = range(1, len(kept) - 1)
        kept.pop(min(inner, key=lambda i: kept[i + 1] - kept[i - 1]))
    return kept
