"""Counts of the episodes in slots, and of those that do not count, since their opponent was exchanged on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

MANY = 100  # episodes: a share of fewer means little


@dataclass
class EpisodeCounts:
    """Episodes in a policy's slots.

    Attributes:
        played: rollouts that its envs have played, all envs together.
        ended: episodes that ended, those left out included.
        left_out: of them, those that began against another opponent.
    """

    played: int = 0
    ended: int = 0
    left_out: int = 0

    @property
    def share_left_out(self) -> float:
        """Part of the episodes that was left out; NaN where none ended."""
        return self.left_out / self.ended if self.ended else math.nan

    @property
    def rollouts_an_episode(self) -> float:
        """Rollouts that the mean episode takes; infinite if none ended.

        What was played is divided by what ended, as the mean length of those that have ended would be too short while
        the longer ones run on.
        """
        return self.played / self.ended if self.ended else math.inf
