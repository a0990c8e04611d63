"""Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347) with CleanRL's formulas and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from warpworld.policies import Policy
from warpworld.policies.fused import Loss
from warpworld.trainers.batch import Batch, blank, mean, normalise
from warpworld.trainers.distributed import ALONE, ProcessGroup
from warpworld.trainers.learner import Learner, LearnerSettings, Losses
from warpworld.trainers.schedules import Schedule, value_at

LOSS_DIAGNOSTICS = ("policy_loss", "value_loss", "entropy", "approx_kl", "old_approx_kl", "clipfrac")


class PPOSettings(LearnerSettings, Protocol):
    """What PPO reads of a policy's settings."""

    update_epochs: int
    clip_coef: Schedule
    clip_vloss: bool
    target_kl: float | None


@dataclass(frozen=True)
class PPOLossSettings:
    """The coefficients of the loss at one point of the training."""

    clip_coef: float
    clip_vloss: bool
    norm_adv: bool
    ent_coef: float
    vf_coef: float


def ppo_loss(
    log_probs: Tensor, entropies: Tensor, values: Tensor, batch: Batch, settings: PPOLossSettings
) -> tuple[Tensor, dict[str, Tensor]]:
    """PPO's loss of one minibatch, given what the present policy makes of its rows.

    Rows whose mask is False have no weight in any mean, nor in the normalisation of advantages, and no gradient,
    whatever they hold. Where a single row counts, its normalised advantage is 0.

    Args:
        log_probs: (B,) float, log-probability of ``batch.actions`` under the present policy.
        entropies: (B,) float, entropy of the present policy in each row.
        values: (B,) float, what the present value function says.
        batch: the rows.
        settings: the loss's coefficients.

    Returns:
        The loss, a scalar with gradient: ``policy_loss - ent_coef * entropy + vf_coef * value_loss``; and its
        diagnostics by name (``LOSS_DIAGNOSTICS``), scalars without gradient.
    """
    mask = batch.mask
    advantages = blank(batch.advantages, mask)
    if settings.norm_adv:
        advantages = normalise(advantages, mask)

    # policy: the pessimistic one of the plain and the clipped surrogate
    log_ratio = blank(log_probs, mask) - blank(batch.log_probs, mask)
    ratio = log_ratio.exp()
    clipped_ratio = ratio.clamp(1 - settings.clip_coef, 1 + settings.clip_coef)
    policy_loss = mean(torch.max(-advantages * ratio, -advantages * clipped_ratio), mask)

    # value: half the squared error, likewise clipped around the old value
    new, old, returns = blank(values, mask), blank(batch.values, mask), blank(batch.returns, mask)
    squared_error = (new - returns) ** 2
    if settings.clip_vloss:
        clipped = old + (new - old).clamp(-settings.clip_coef, settings.clip_coef)
        squared_error = torch.max(squared_error, (clipped - returns) ** 2)
    value_loss = 0.5 * mean(squared_error, mask)

    entropy = mean(entropies, mask)
    loss = policy_loss - settings.ent_coef * entropy + settings.vf_coef * value_loss

    with torch.no_grad():
        diagnostics = {
            "policy_loss": policy_loss.detach(),
            "value_loss": value_loss.detach(),
            "entropy": entropy.detach(),
            "approx_kl": mean((ratio - 1) - log_ratio, mask),  # http://joschu.net/blog/kl-approx.html, k3
            "old_approx_kl": mean(-log_ratio, mask),  # the same page, k1
            "clipfrac": mean(((ratio - 1.0).abs() > settings.clip_coef).to(ratio.dtype), mask),
        }
    return loss, diagnostics


class PPO(Learner):
    """PPO for one policy: ``update_epochs`` passes over each rollout."""

    settings: PPOSettings

    def __init__(self, policy: Policy, settings: PPOSettings, processes: ProcessGroup = ALONE) -> None:
        """Take a policy that lies on its device already."""
        super().__init__(policy, settings, LOSS_DIAGNOSTICS, processes)

    @property
    def num_epochs(self) -> int:
        """Passes over a rollout, at most."""
        return self.settings.update_epochs

    def loss_settings(self) -> PPOLossSettings:
        """The coefficients that the next update uses."""
        return PPOLossSettings(
            clip_coef=value_at(self.settings.clip_coef, self.env_steps),
            clip_vloss=self.settings.clip_vloss,
            norm_adv=self.norm_adv,
            ent_coef=value_at(self.settings.ent_coef, self.env_steps),
            vf_coef=self.settings.vf_coef,
        )

    def loss_of(self, log_probs: Tensor, entropies: Tensor, values: Tensor, minibatch: Batch) -> Losses:
        """``ppo_loss`` with the present coefficients."""
        return ppo_loss(log_probs, entropies, values, minibatch, self.loss_settings())

    def fused_loss(self) -> Loss:
        """The same loss, as fused kernels are told of it."""
        loss = self.loss_settings()
        return Loss(
            surrogate=True,
            clip_value_loss=loss.clip_vloss,
            normalise_advantages=loss.norm_adv,
            clip_coef=loss.clip_coef,
            ent_coef=loss.ent_coef,
            vf_coef=loss.vf_coef,
        )

    def is_enough(self, diagnostics: Mapping[str, Tensor]) -> bool:
        """Whether the policy has moved so far that the update ends after this epoch; waits for the device if asked."""
        limit = self.settings.target_kl
        return limit is not None and diagnostics["approx_kl"].item() > limit
