"""Advantage actor-critic: the synchronous form of A3C (Mnih et al. 2016, arXiv 1602.01783)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from warpworld.config import ALGORITHM, Count, Flag, Fraction
from warpworld.trainers.algorithms import Batch, Losses, LossTerms, OnPolicy, OnPolicySettings, blank, mean, normalise


class A2CSettings(OnPolicySettings):
    """One entry of the ``policy`` section with ``algorithm: a2c``."""

    algorithm: Literal["a2c"] = Field(default="a2c", description=ALGORITHM)
    gae_lambda: Fraction = Field(default=1.0, description="lambda of generalised advantage estimation")
    num_minibatches: Count = Field(default=1, description="parts of a rollout, one gradient step each")
    norm_adv: Flag = Field(default=False, description="normalise advantages per minibatch")


def a2c_loss(
    log_probs: Tensor, entropies: Tensor, values: Tensor, batch: Batch, settings: A2CSettings
) -> tuple[Tensor, dict[str, Tensor]]:
    """A2C's loss of one minibatch, given what the present policy makes of its rows.

    Rows whose mask is False have no weight in any mean, nor in the normalisation of advantages, and no gradient,
    whatever they hold.

    Args:
        log_probs: (B,) float, log-probability of ``batch.actions`` under the present policy.
        entropies: (B,) float, entropy of the present policy in each row.
        values: (B,) float, of the current value function.
        batch: the rows; their old log_probs and values are not read.
        settings: the coefficients, schedules replaced by numbers.

    Returns:
        The loss, a scalar with gradient: ``policy_loss - ent_coef * entropy + vf_coef * value_loss`` with
        ``policy_loss = -mean(log_prob * advantage)`` and ``value_loss = mean((value - return)^2) / 2``; and its
        diagnostics by name (``A2C.loss_diagnostics``), scalars without gradient.
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


class A2C(OnPolicy):
    """A2C for one policy: one pass over each rollout."""

    Settings = A2CSettings
    loss_diagnostics = ("policy_loss", "value_loss", "entropy")
    settings: A2CSettings
    now: A2CSettings

    def loss_of(self, log_probs: Tensor, entropies: Tensor, values: Tensor, minibatch: Batch) -> Losses:
        """``a2c_loss`` with the present coefficients."""
        return a2c_loss(log_probs, entropies, values, minibatch, self.now)

    def loss_terms(self) -> LossTerms:
        """Terms of the loss, with the present coefficients."""
        return LossTerms(normalise_advantages=self.now.norm_adv, ent_coef=self.now.ent_coef, vf_coef=self.now.vf_coef)
