"""Ends of an agent's part of an episode."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class End:
    """How an agent's part of the episode ended in a step, if it did.

    Attributes:
        terminated: by itself.
        truncated: by a limit.
    """

    terminated: bool
    truncated: bool

    @classmethod
    def of(cls, terminated: bool, truncated: bool, is_present: bool) -> End:
        """What an env reports of an agent; one that vanishes without a flag has terminated."""
        return cls(terminated or not (truncated or is_present), truncated and not terminated)

    @property
    def is_one(self) -> bool:
        """Whether it ended."""
        return self.terminated or self.truncated


NOT_YET = End(False, False)
