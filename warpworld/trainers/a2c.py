"""Advantage actor-critic: the synchronous form of A3C (Mnih et al. 2016, arXiv 1602.01783)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from warpworld.policies import Policy
from warpworld.policies.fused import Loss
from warpworld.trainers.batch import Batch, blank, mean, normalise
from warpworld.trainers.distributed import ALONE, ProcessGroup
from warpworld.trainers.learner import Learner, LearnerSettings, Losses
from warpworld.trainers.schedules import value_at

LOSS_DIAGNOSTICS = ("policy_loss", "value_loss", "entropy")


@dataclass(frozen=True)
class A2CLossSettings:
    """The coefficients of the loss at one point of the training."""

    norm_adv: bool
    ent_coef: float
    vf_coef: float


def a2c_loss(
    log_probs: Tensor, entropies: Tensor, values: Tensor, batch: Batch, settings: A2CLossSettings
) -> tuple[Tensor, dict[str, Tensor]]:
    """A2C's loss of one minibatch, given what the present policy makes of its rows.

    Rows whose mask is False have no weight in any mean, nor in the normalisation of advantages, and no gradient,
    whatever they hold.

    Args:
        log_probs: (B,) float, log-probability of ``batch.actions`` under the present policy.
        entropies: (B,) float, entropy of the present policy in each row.
        values: (B,) float, what the present value function says.
        batch: the rows; their old log_probs and values are not read.
        settings: the loss's coefficients.

    Returns:
        The loss, a scalar with gradient: ``policy_loss - ent_coef * entropy + vf_coef * value_loss`` with
        ``policy_loss = -mean(log_prob * advantage)`` and ``value_loss = mean((value - return)^2) / 2``; and its
        diagnostics by name (``LOSS_DIAGNOSTICS``), scalars without gradient.
    """
    mask = batch.mask
    advantages = blank(batch.advantages, mask)
    if settings.norm_adv:
        advantages = normalise(advantages, mask)
    policy_loss = -mean(advantages * blank(log_probs, mask), mask)
    value_loss = 0.5 * mean((blank(values, mask) - blank(batch.returns, mask)) ** 2, mask)
    entropy = mean(entropies, mask)
    loss = policy_loss - settings.ent_coef * entropy + settings.vf_coef * value_loss
    diagnostics = {"policy_loss": policy_loss, "value_loss": value_loss, "entropy": entropy}
    return loss, {name: value.detach() for name, value in diagnostics.items()}


class A2C(Learner):
    """A2C for one policy: one pass over each rollout."""

    num_epochs = 1

    def __init__(self, policy: Policy, settings: LearnerSettings, processes: ProcessGroup = ALONE) -> None:
        """Take a policy that lies on its device already."""
        super().__init__(policy, settings, LOSS_DIAGNOSTICS, processes)

    def loss_settings(self) -> A2CLossSettings:
        """The coefficients that the next update uses."""
        return A2CLossSettings(
            norm_adv=self.norm_adv,
            ent_coef=value_at(self.settings.ent_coef, self.env_steps),
            vf_coef=self.settings.vf_coef,
        )

    def loss_of(self, log_probs: Tensor, entropies: Tensor, values: Tensor, minibatch: Batch) -> Losses:
        """``a2c_loss`` with the present coefficients."""
        return a2c_loss(log_probs, entropies, values, minibatch, self.loss_settings())

    def fused_loss(self) -> Loss:
        """The same loss, as fused kernels are told of it."""
        loss = self.loss_settings()
        return Loss(normalise_advantages=loss.norm_adv, ent_coef=loss.ent_coef, vf_coef=loss.vf_coef)
