"""V-trace targets of a rollout's rows, by the weights that a policy has at the moment."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from warpworld.policies import Policy
from warpworld.trainers.batch import Batch
from warpworld.trainers.rollout import VALUE_ROWS, Rollout
from warpworld.trainers.sequences import Experience
from warpworld.trainers.vtrace import VTraceSettings, vtrace


class VTraceTargets:
    """The value targets of one policy's groups.

    A recurrent policy goes through each sequence again, from the state that the rollout began with; what follows the
    last step, and final observations, are told of with the states in which it acted.

    Args:
        rollout: what stands in the store.
        policy: that plays the groups.
        gamma: discount per step.
        gae_lambda: weight of longer looks ahead.
        settings: the limits of the ratios.
    """

    def __init__(
        self, rollout: Rollout, policy: Policy, gamma: float, gae_lambda: float, settings: VTraceSettings
    ) -> None:
        self._rollout, self._policy, self._settings = rollout, policy, settings
        self._gamma, self._lambda = gamma, gae_lambda

    def on_policy(self, group: str, rows: Experience) -> Experience:
        """A group's rows with targets by the weights that acted, where every ratio is 1."""
        values = rows.rows.values
        return rows.with_columns(returns=self._returns(group, rows, values, torch.zeros_like(values)))

    def returns(self, experience: Mapping[str, Experience]) -> Tensor:
        """New targets for all rows of all groups, in their order: (rows,) float32."""
        found = []
        for group, rows in experience.items():
            log_probs, values = self._evaluated(rows)
            log_ratios = log_probs - rows.rows.log_probs
            if rows.rows.mask is not None:  # what acts where no row counts is nobody's
                log_ratios = torch.where(rows.rows.mask, log_ratios, 0.0)
            found.append(self._returns(group, rows, values, log_ratios))
        return torch.cat(found)

    def _returns(self, group: str, rows: Experience, values: Tensor, log_ratios: Tensor) -> Tensor:
        ends = self._rollout.ends(group, self._policy)
        shape = ends["rewards"].shape
        values, log_ratios = (_by_step(rows, column).reshape(shape) for column in (values, log_ratios))
        targets = vtrace(
            values=values,
            log_ratios=log_ratios,
            **ends,
            gamma=self._gamma,
            gae_lambda=self._lambda,
            settings=self._settings,
        )
        return targets.flatten() if isinstance(rows, Batch) else targets.flatten(1).t().flatten()

    def _evaluated(self, rows: Experience) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the actions, and values, by the present weights: (rows,) each."""
        at_once = VALUE_ROWS[rows.rows.observations.device.type] * len(rows) // len(rows.rows) or 1
        whole, rest = divmod(len(rows), at_once)
        log_probs, values = [], []
        with torch.no_grad():
            for part in rows.split([at_once] * whole + [rest] * (rest > 0)):
                outputs, said = part.evaluated(self._policy)
                actions, masks = part.rows.actions, part.rows.action_masks
                log_probs.append(self._policy.distribution.log_prob_and_entropy(outputs, actions, masks)[0])
                values.append(said)
        return torch.cat(log_probs), torch.cat(values)


def _by_step(rows: Experience, column: Tensor) -> Tensor:
    """A column in the order in which the rollout has it, step by step."""
    return column if isinstance(rows, Batch) else rows.turned_back(column)
