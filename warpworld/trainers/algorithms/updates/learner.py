"""An on-policy algorithm as its updates see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from torch import Tensor

from warpworld.policies import Policy
from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.algorithms.parameters import AveragedPolicy, FlatParameters, KLPenalty, KLRate
from warpworld.trainers.algorithms.settings import LossTerms, SegmentDraws
from warpworld.trainers.algorithms.targets import Estimates, Targets, ValueUnits
from warpworld.trainers.processes import ProcessGroup

Terms = Callable[[], LossTerms]
"""Gives the terms of the present loss."""


class Learner(Protocol):
    """An on-policy algorithm as its updates use it; ``OnPolicy`` documents each name."""

    policy: Policy
    processes: ProcessGroup
    settings: Any
    now: Any
    learning_rate: float
    loss_diagnostics: ClassVar[tuple[str, ...]]
    passes_in_cpp: bool
    parameters: FlatParameters
    rate: KLRate | None
    penalty: KLPenalty | None
    average: AveragedPolicy | None
    units: ValueUnits

    @property
    def num_epochs(self) -> int:
        """Passes over a rollout, at most."""

    @property
    def may_end_early(self) -> bool:
        """Whether ``is_enough`` is asked between passes."""

    @property
    def recomputes_targets(self) -> bool:
        """Whether value targets change from pass to pass."""

    def is_enough(self, diagnostics: Mapping[str, Tensor]) -> bool:
        """Whether further passes are left out."""

    def losses(self, minibatch: Experience) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss of a minibatch, and its diagnostics."""

    def loss_terms(self) -> LossTerms | None:
        """Terms of the loss; None leaves its gradient to autograd."""

    def pulled(self, batch: Experience) -> Experience:
        """The rows with what the loss adds to their advantages."""

    def segment_draws(self) -> SegmentDraws | None:
        """Rule by which minibatches are drawn; None shuffles rows."""

    def targets(self, estimates: Sequence[Estimates] | None) -> Targets:
        """Value targets of the rollout in the store."""

    def take_in(self, observations: Tensor, total: int, mask: Tensor | None) -> None:
        """Pass rows on to the normaliser of observations."""
