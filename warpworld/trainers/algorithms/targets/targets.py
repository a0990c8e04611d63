"""Value targets from a rollout: GAE's returns or V-trace's targets, by the name in ``value_targets``."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from warpworld.policies import Policy
from warpworld.trainers.algorithms.experience import (
    Batch,
    Experience,
    ends_of,
    experience_of,
    joined,
    plain_rows,
    rows_at_once,
    step_values,
)
from warpworld.trainers.algorithms.targets.estimates import Estimates, TargetSettings, TensorEstimates
from warpworld.trainers.collecting import Trajectories
from warpworld.trainers.spans import LOSS, RETURNS, span


class Targets(ABC):
    """The value targets, and advantages, of one policy's rows.

    Attributes:
        recomputes: whether ``recomputed`` gives other targets as the weights change.

    Args:
        policy: that acted, and learns.
        seen: what was recorded of each of its groups.
        settings: discount and limits.
        estimates: what computes those of each group; None for ``TensorEstimates``.
        acted: the policy with the weights that acted, if others learn; None for ``policy``.
        loss_has_ratio: whether the loss weighs an action by its probability now, over that when it was taken.
    """

    recomputes: ClassVar[bool] = False

    def __init__(
        self,
        policy: Policy,
        seen: Sequence[Trajectories],
        settings: TargetSettings,
        estimates: Sequence[Estimates] | None = None,
        acted: Policy | None = None,
        loss_has_ratio: bool = True,
    ) -> None:
        self.policy, self.seen, self.acted = policy, seen, policy if acted is None else acted
        self.settings, self.loss_has_ratio = settings, loss_has_ratio
        self.estimates = [TensorEstimates(settings)] * len(seen) if estimates is None else estimates

    @abstractmethod
    def experience(self) -> Experience:
        """The rows of all groups, one group after the other, with targets by the weights that acted."""

    def recomputed(self) -> Tensor:
        """New targets of all rows by the present weights, (rows,) float32."""
        raise NotImplementedError


class GAETargets(Targets):
    """Generalised advantage estimation: returns are advantages plus values."""

    def experience(self) -> Experience:
        """Implement ``Targets``."""
        groups = zip(self.seen, self.estimates, strict=True)
        return joined(
            [self._rows(seen, ends_of(seen, self.acted, estimates.place), estimates) for seen, estimates in groups]
        )

    def evaluated_once(self) -> Batch:
        """``experience`` of a policy without memory, before the only step of an update.

        A single pass through the networks gives the values that targets are made from, and all that the loss is made
        from, with gradient.
        """
        # the rows, with values, advantages and returns that are yet to come
        rows = Batch.join([plain_rows(seen, *(seen.log_probs,) * 3) for seen in self.seen]).with_blanks()
        # All arrays of the store share autograd's count of writes, so that a write to any of them would spoil the saved
        # observations. `data` has a count of its own.
        rows = rows.with_columns(observations=rows.observations.data)
        # values of each group, and their targets
        with span(LOSS):
            outputs, values = rows.evaluated(self.policy)
        of_groups = values.detach().split([seen.log_probs.numel() for seen in self.seen])
        with span(RETURNS):
            found = [
                estimates.gae(own.view(seen.log_probs.shape), ends_of(seen, self.policy, estimates.place))
                for own, seen, estimates in zip(of_groups, self.seen, self.estimates, strict=True)
            ]
        advantages, returns = (torch.cat([each.flatten() for each in column]) for column in zip(*found, strict=True))
        columns = {"values": values.detach(), "advantages": advantages, "returns": returns}
        return dataclasses.replace(rows.with_columns(**columns), evaluation=(outputs, values))

    def _rows(self, seen: Trajectories, ends: dict[str, Any], estimates: Estimates) -> Experience:
        values = step_values(seen, self.acted)
        with span(RETURNS):
            advantages, returns = estimates.gae(values, ends)
        return experience_of(seen, self.policy, values, advantages, returns)


class VTraceTargets(GAETargets):
    """V-trace: targets of the present policy, from rows that an older one acted in; advantages stay those of GAE.

    A recurrent policy goes through each sequence again, from the state that the rollout began with. What follows the
    last step, and final observations, are evaluated with the states in which it acted.
    """

    recomputes = True

    def experience(self) -> Experience:
        """Implement ``Targets``: on-policy every ratio is 1."""
        self._parts: list[Experience] = []
        if self.acted is not self.policy:
            return self._of_older_weights()
        for seen, estimates in zip(self.seen, self.estimates, strict=True):
            ends = ends_of(seen, self.policy, estimates.place)
            rows = self._rows(seen, ends, estimates)
            values = rows.rows.values
            targets = self._targets(rows, ends, estimates, values, torch.zeros_like(values))
            self._parts.append(rows.with_columns(returns=targets))
        return joined(self._parts)

    def _of_older_weights(self) -> Experience:
        """Rows with advantages by the weights that acted, and targets by those that learn.

        Where the loss has no ratio of probabilities, advantages are multiplied by it, up to ``rho_bar`` (Espeholt et
        al. 2018, section 4.2).
        """
        groups = zip(self.seen, self.estimates, strict=True)
        self._parts = [
            self._rows(seen, ends_of(seen, self.acted, estimates.place), estimates) for seen, estimates in groups
        ]
        rows, (targets, log_ratios) = joined(self._parts), self._recomputed()
        weights = 1.0 if self.loss_has_ratio else log_ratios.exp().clamp(max=self.settings.rho_bar)
        return rows.with_columns(returns=targets, advantages=rows.rows.advantages * weights)

    def recomputed(self) -> Tensor:
        """Implement ``Targets``; call ``experience`` before."""
        return self._recomputed()[0]

    def _recomputed(self) -> tuple[Tensor, Tensor]:
        """Targets of all rows by the present weights, and log-ratios of their actions' probabilities: (rows,) each."""
        targets, of_actions = [], []
        for seen, estimates, rows in zip(self.seen, self.estimates, self._parts, strict=True):
            log_probs, values = self._evaluated(rows)
            log_ratios = log_probs - rows.rows.log_probs
            if rows.rows.mask is not None:  # what acts where no row counts is another policy
                log_ratios = torch.where(rows.rows.mask, log_ratios, 0.0)
            targets.append(
                self._targets(rows, ends_of(seen, self.policy, estimates.place), estimates, values, log_ratios)
            )
            of_actions.append(log_ratios)
        return torch.cat(targets), torch.cat(of_actions)

    def _targets(
        self, rows: Experience, ends: dict[str, Any], estimates: Estimates, values: Tensor, log_ratios: Tensor
    ) -> Tensor:
        """Targets of one group's rows, from values and log-ratios in the rows' order: (rows,) in that order."""
        shape = ends["rewards"].shape
        values, log_ratios = (_by_step(rows, column).reshape(shape) for column in (values, log_ratios))
        with span(RETURNS):
            targets = estimates.vtrace(values, log_ratios, ends)
        return targets.flatten() if isinstance(rows, Batch) else targets.flatten(1).t().flatten()

    def _evaluated(self, rows: Experience) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the actions, and values, by the present weights: (rows,) each."""
        at_once = rows_at_once(self.policy, rows.rows.observations) * len(rows) // len(rows.rows) or 1
        whole, rest = divmod(len(rows), at_once)
        log_probs, values = [], []
        distribution: Any = self.policy.distribution
        with torch.no_grad():
            for part in rows.split([at_once] * whole + [rest] * (rest > 0)):
                outputs, said = part.evaluated(self.policy)
                actions, masks = part.rows.actions, part.rows.action_masks
                log_probs.append(distribution.log_prob_and_entropy(outputs, actions, masks)[0])
                values.append(self.policy.in_rewards(said))
        return torch.cat(log_probs), torch.cat(values)


def _by_step(rows: Experience, column: Tensor) -> Tensor:
    """A column in the order in which the rollout has it, step by step."""
    return column if isinstance(rows, Batch) else rows.turned_back(column)


TARGETS: dict[str, type[Targets]] = {"gae": GAETargets, "vtrace": VTraceTargets}
