"""History of a store that the rest of a run depends on, for checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Rows:
    """A ring of rows. New rows overwrite the oldest; a checkpoint adds the new ones.

    Attributes:
        name: unique in the run.
        arrays: views by name, (R, num_envs, ...): row number t lies at t % R.
        written: rows that were ever written.
        unsettled: newest rows that may still change.
        slots: views of arrays, (num_envs, S, ...), which rows refer to: number k of an env lies at k % S.
        filled: (num_envs,) int, numbers of each env that were ever written; None where there are no ``slots``.
    """

    name: str
    arrays: Mapping[str, Tensor]
    written: int
    unsettled: int = 0
    slots: Mapping[str, Tensor] = field(default_factory=dict)
    filled: Tensor | None = None

    @property
    def capacity(self) -> int:
        """Number of rows, R."""
        return len(next(iter(self.arrays.values())))


class History(ABC):
    """A record of the past in arrays that the store keeps as history, such as a replay's ring.

    Checkpoints hold the arrays that it names. Their counters lie in the store as state. The views are of the sealed
    store, and consistent with its contents when they are requested.
    """

    @abstractmethod
    def rows(self) -> Sequence[Rows]:
        """Arrays that grow by rows."""

    def whole(self) -> Mapping[str, Tensor]:
        """Views of arrays that are saved whole, by name: (places, num_envs, ...)."""
        return {}

    def own(self) -> Mapping[str, Tensor]:
        """Views of small arrays that each process has for itself, by name."""
        return {}

    @abstractmethod
    def restored(self) -> None:
        """Called after everything above was restored: recompute what is derived from it."""

    @abstractmethod
    def empty(self) -> None:
        """Begin without any rows."""

    @abstractmethod
    def end_episodes(self) -> None:
        """Called when all envs begin new episodes without a step: change unsettled rows so that none reaches across."""
