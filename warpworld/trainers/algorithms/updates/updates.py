"""Updates of an on-policy algorithm: passes over a rollout's rows, in minibatches, one step of the optimiser each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from warpworld.policies import moments, variance_of
from warpworld.policies.fused import Shuffler, fused_variance
from warpworld.trainers.algorithms.experience import Experience
from warpworld.trainers.algorithms.parameters import KLPenalty
from warpworld.trainers.algorithms.targets import Estimates, Targets, ValueUnits
from warpworld.trainers.algorithms.updates.gradients import Gradients, Steps
from warpworld.trainers.algorithms.updates.learner import Learner
from warpworld.trainers.algorithms.updates.minibatches import Epoch, Minibatches
from warpworld.trainers.algorithms.updates.passes import Passes, Permutations, RecomputedTargets
from warpworld.trainers.algorithms.updates.segments import Segments
from warpworld.trainers.algorithms.updates.update_parts import Part, UpdateParts
from warpworld.trainers.spans import GRADIENT, spanned_items


class Updates:
    """The updates of one process that has all rows, without CUDA graphs.

    Attributes:
        learner: the algorithm.
        estimates: what computes the targets of each group; None for torch or C++.
        minibatches: shuffles the rows of an update.
        segments: draws segments in place of that.
        diagnostics: names of the metrics that an update gives.
        passes: of the latest update.

    Args:
        learner: the algorithm.
        gradients: computes the gradients of its minibatches.
    """

    minibatches: type[Minibatches] = Minibatches
    segments: type[Segments] = Segments
    estimates: Sequence[Estimates] | None = None

    def __init__(self, learner: Learner, gradients: Gradients) -> None:
        self.learner, self.gradients = learner, gradients
        self.passes = Passes((*learner.loss_diagnostics, "grad_norm"), learner.parameters.gradient)
        self.diagnostics = (*self.passes.names, "explained_variance")
        self._found = learner.parameters.vector.new_zeros(len(self.diagnostics))
        self._shuffler = Shuffler()

    # ---- whole updates -----------------------------------------------------------------------------------------------
    def from_rollout(self, generator: torch.Generator) -> None:
        """Update once from the rollout in the store, with permutations of its rows drawn from ``generator``."""
        self._run(lambda: self._begin_with_rollout(generator), self.learner.recomputes_targets)

    def from_rows(self, batch: Experience, permutations: Permutations, recomputed: RecomputedTargets | None) -> None:
        """Update once from rows.

        Rows that do not count are dropped first; of a recurrent policy, sequences in which none does. Where CUDA graphs
        are captured they are shuffled with the others, and count for nothing. The host waits for the device once at the
        start where rows have a mask and no graph is captured, and with PPO's ``target_kl`` between two epochs. A
        normaliser takes the rows in when all is done.

        Args:
            batch: rows on the policy's device, sequences for a recurrent policy.
            permutations: what they are drawn from, and nothing else, in the same state in all processes; or what gives
                them.
            recomputed: what gives new value targets for all rows of the batch, by the present weights, before each pass
                but the first; None keeps the batch's. They are written over the batch's.
        """
        self._run(lambda: self._begin(batch, permutations, recomputed), recomputed is not None)

    def latest_diagnostics(self) -> dict[str, Tensor]:
        """The diagnostics of the latest update by name, () float32 each on the policy's device, until the next.

        Those of the loss and the gradient's length before clipping are means over all minibatches of the update;
        explained_variance is 1 - Var(returns - values) / Var(returns) of the rows' values, 0 where the returns do not
        differ. All are 0 if no row counts.
        """
        return dict(zip(self.diagnostics, self._found.unbind(), strict=True))

    def set_learning_rate(self, rate: float) -> None:
        """Set the learning rate of the updates that follow."""
        self.learner.parameters.learning_rate = rate

    def settings_at(self, env_steps: int) -> Any:
        """The settings of an update, with the values of schedules and a coefficient that follows the divergence."""
        now, penalty = self.learner.settings.at(env_steps), self.learner.penalty
        return now if penalty is None else now.model_copy(update={"kl_coef": self._coefficient(penalty)})

    def _coefficient(self, penalty: KLPenalty) -> float | Tensor:
        """Coefficient of the divergence in the loss of the present update."""
        return float(penalty.coefficient)

    def forget(self) -> None:
        """Keep nothing that depends on where the optimiser's tensors lie; call it after they were loaded."""

    # ---- parts of an update ------------------------------------------------------------------------------------------
    def _run(self, begin: Part, recomputes: bool) -> None:
        """One update from the rows that ``begin`` settles."""
        with self.gradients.around():
            at_once = self._passes_at_once(recomputes)
            self._parts(self._first(begin, at_once), at_once).run()
        self.passes.drop()

    def _passes_at_once(self, recomputes: bool) -> int:
        """Passes that are one call: more than one if nothing is done between two."""
        learner = self.learner
        if recomputes or learner.may_end_early:
            return 1
        return self.gradients.passes_at_once(learner.num_epochs)

    def _first(self, begin: Part, at_once: int) -> Part:
        """The first part of an update, from the rows that ``begin`` settles, with so many passes."""

        def first() -> None:
            begin()
            self._pass(at_once)

        return first

    def _parts(self, first: Part, at_once: int) -> UpdateParts:
        """An update whose first part takes so many passes."""
        learner = self.learner

        def another() -> None:
            self.passes.recompute_targets()
            self._pass()

        def is_enough() -> bool:
            return learner.is_enough(self.passes.latest())

        passes = learner.num_epochs // at_once
        return UpdateParts(first, another, self._end, passes, is_enough if learner.may_end_early else None)

    def _begin_with_rollout(self, permutations: Permutations) -> None:
        # advantages and value targets of the rollout's rows, and the scale of values
        targets, units = self.learner.targets(self.estimates), self.learner.units
        experience = self._experience(targets)
        self._follow(units, experience)
        # the first pass over the rows
        recomputed = (lambda: units.of_returns(targets.recomputed())) if targets.recomputes else None
        self._begin(units.of_experience(experience), permutations, recomputed)

    def _experience(self, targets: Targets) -> Experience:
        return targets.experience()

    def _follow(self, units: ValueUnits, experience: Experience) -> None:
        """Let the units of values follow the returns."""
        units.follow(experience)

    def _begin(self, batch: Experience, permutations: Permutations, recomputed: RecomputedTargets | None) -> None:
        wanted, processes = self.learner.settings.num_minibatches, self.learner.processes
        draws, batch = self.learner.segment_draws(), self.learner.pulled(batch)
        if draws is None:
            minibatches = self.minibatches(batch, wanted, processes, self._shuffler)
        else:
            minibatches = self.segments(batch, wanted, processes, draws)
        self.passes.begin(minibatches, permutations, recomputed)
        if self.learner.rate is not None:
            self.learner.rate.begin()

    def _pass(self, count: int = 1) -> None:
        self._end_pass(self._begin_pass(count), count)

    def _begin_pass(self, count: int) -> Steps | None:
        """Function that takes the steps of so many passes; None without a row."""
        minibatches = self.passes.minibatches
        return self._epoch(minibatches, self.passes.shuffle(count)) if minibatches.total else None

    def _end_pass(self, steps: Steps | None, count: int) -> None:
        if steps is not None:
            self._note(steps(), count)

    def _note(self, found: Tensor, count: int) -> None:
        """Take in the diagnostics of so many passes, as ``Passes.end`` does."""
        self.passes.end(found, count)

    def _end(self) -> None:
        """Leave the diagnostics at their place, and let what follows an update take it in."""
        if self.passes.minibatches.total == 0:
            self._found.zero_()
            return
        self._summarise()
        self._take_in()

    def _take_in(self) -> None:
        """Let a penalty, the normaliser of observations and averaged weights take an update in."""
        minibatches = self.passes.minibatches
        if self.learner.penalty is not None:
            self.learner.penalty.follow(self.passes.means_of_last()["approx_kl"])
        rows = minibatches.single_rows
        self.learner.take_in(rows.observations, minibatches.num_rows, rows.mask)
        if self.learner.average is not None:
            self.learner.average.follow()

    def _summarise(self) -> None:
        """Leave the diagnostics in the tensor that stays at its place."""
        rows = self.passes.minibatches.single_rows
        values = self.learner.units.of_values(rows.values)
        # 1 is a perfect critic, 0 no better than a constant
        unexplained, variance = self._variances(rows.returns, values, rows.mask)
        explained = torch.where(variance > 0, 1.0 - unexplained / variance, 0.0)
        found = {**self.passes.means(), "explained_variance": explained}
        torch.stack([found[name].float() for name in self.diagnostics], out=self._found)

    # ---- steps of the optimiser --------------------------------------------------------------------------------------
    def _epoch(self, minibatches: Minibatches, epoch: Epoch) -> Steps:
        """The passes of an epoch."""
        rows = minibatches.rows
        return self.gradients.steps(rows, epoch) or partial(self._steps, rows, epoch)

    def _steps(self, rows: Experience, epoch: Epoch) -> Tensor:
        """Take the steps of an epoch one by one; returns diagnostics of each, (minibatches, ``Passes.names``)."""
        gradients = spanned_items(GRADIENT, self.gradients(rows, epoch))
        return self.passes.rows_of(
            [self._step(found, share) for found, share in zip(gradients, epoch.shares, strict=True)]
        )

    def _step(self, diagnostics: dict[str, Tensor], share: float) -> dict[str, Tensor]:
        """One step along the present gradient; adds its length to the loss's diagnostics."""
        if self.learner.rate is not None and diagnostics:
            self.learner.rate.follow(diagnostics["approx_kl"])
        norm = self.learner.parameters.step(self.learner.settings.max_grad_norm, self.gradients.norm)
        return {**diagnostics, "grad_norm": norm}

    # ---- diagnostics -------------------------------------------------------------------------------------------------
    def _variances(self, returns: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Variances of ``returns - values`` and of ``returns``, over the rows that count."""
        if mask is not None:
            _, _, (unexplained, variance) = moments(torch.stack((returns - values, returns), 1), mask)
            return unexplained, variance
        return self._variance(returns, values), self._variance(returns)

    def _variance(self, numbers: Tensor, less: Tensor | None = None) -> Tensor:
        """Variance of ``numbers``, or of ``numbers - less``."""
        found = fused_variance(numbers, less) if numbers.device.type == "cpu" else None
        return variance_of(numbers if less is None else numbers - less) if found is None else found
