"""Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347) with CleanRL's formulas and names."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, cast

import torch
from pydantic import Field
from torch import Tensor

from warpworld.config import (
    ALGORITHM,
    Fault,
    Flag,
    NotNegativeSchedule,
    Positive,
    PositiveSchedule,
    Sizes,
)
from warpworld.errors import ConfigError, RunError
from warpworld.policies import Policy
from warpworld.policies.fused import RateRule
from warpworld.trainers.algorithms import (
    ALONE,
    Batch,
    Experience,
    KLPenalty,
    Losses,
    LossTerms,
    OnPolicy,
    OnPolicySettings,
    ProcessGroup,
    SegmentDraws,
    SegmentSettings,
    blank,
    mean,
    normalise,
)


class PPOSettings(SegmentSettings):
    """One entry of the ``policy`` section with ``algorithm: ppo``."""

    algorithm: Literal["ppo"] = Field(default="ppo", description=ALGORITHM)
    clip_coef: PositiveSchedule = Field(default=0.2, description="how far the probability ratio may move from 1")
    clip_vloss: Flag = Field(default=True, description="clip the value loss in the same way")
    target_kl: Positive | None = Field(
        default=None, description="stop a rollout's epochs above this KL divergence; null never stops"
    )
    desired_kl: Positive | None = Field(
        default=None,
        description="KL divergence that the learning rate follows: it is divided by 1.5 above twice of it, and "
        "multiplied by 1.5 below half of it; null leaves the rate to learning_rate",
    )
    learning_rate_limits: tuple[Positive, Positive] = Field(
        default=(1e-5, 1e-2), description="lowest and highest learning rate under desired_kl"
    )
    magnet_coef: NotNegativeSchedule = Field(
        default=0.0, description="weight of the KL divergence to the policy with averaged weights, see ema_decay"
    )
    kl_coef: NotNegativeSchedule = Field(
        default=0.0, description="weight of a penalty on the KL divergence from the policy that acted"
    )
    kl_coef_target: Positive | None = Field(
        default=None,
        description="KL divergence that kl_coef follows: it is doubled after an update above 1.5 times it, and halved "
        "after one below it divided by 1.5; null leaves it as it is",
    )

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """A learning rate or a coefficient that follows the KL divergence is no schedule, and needs several steps."""
        yield from super().faults(sizes)
        yield from self._faults_of_coefficient()
        yield from self._faults_of_magnet()
        if self.desired_kl is None:
            return
        what, (lowest, highest) = f"desired_kl is {self.desired_kl:g}", self.learning_rate_limits
        if self.anneal_lr:
            text = f"anneal_lr is true, but {what}, which sets the learning rate; set anneal_lr=false"
            yield Fault(("anneal_lr", "desired_kl"), text)
        if lowest > highest:
            text = f"learning_rate_limits is [{lowest:g}, {highest:g}], expected the lower rate first"
            yield Fault(("learning_rate_limits",), text)
        if isinstance(self.learning_rate, tuple):
            text = f"learning_rate is a schedule, but {what}, which sets the learning rate; expected the first one"
            yield Fault(("learning_rate", "desired_kl"), text)
        elif not lowest <= self.learning_rate <= highest:
            text = f"learning_rate is {self.learning_rate:g}, expected one within learning_rate_limits"
            yield Fault(("learning_rate", "learning_rate_limits"), f"{text}, [{lowest:g}, {highest:g}]")
        yield from self._faults_of_steps("desired_kl", self.desired_kl)

    def _faults_of_coefficient(self) -> Iterator[Fault]:
        """Faults of a coefficient that follows the KL divergence."""
        target = self.kl_coef_target
        if target is None:
            return
        keys, what = ("kl_coef", "kl_coef_target"), f"kl_coef_target is {target:g}, which doubles and halves it"
        if isinstance(self.kl_coef, tuple):
            yield Fault(keys, f"kl_coef is a schedule, but {what}; expected the first one")
        elif self.kl_coef == 0:
            yield Fault(keys, f"kl_coef is 0, but {what}; expected the first one, above 0, such as 1")
        yield from self._faults_of_steps("kl_coef_target", target)

    def _faults_of_magnet(self) -> Iterator[Fault]:
        """Faults of a magnet that is not there, or whose pull would have another unit than the advantages."""
        if self.magnet_coef == 0:
            return
        what = "magnet_coef is " + ("a schedule" if isinstance(self.magnet_coef, tuple) else f"{self.magnet_coef:g}")
        if self.ema_decay is None:
            text = f"{what}, but ema_decay is null, so that no weights are averaged; set ema_decay, such as to 0.99"
            yield Fault(("magnet_coef", "ema_decay"), text)
        if self.norm_adv:
            text = f"{what}, but norm_adv is true: the divergence is in units of reward; set norm_adv=false"
            yield Fault(("magnet_coef", "norm_adv"), text)
        if self.model.remembers:
            text = f"{what}, but the policy has a memory, expected one without; set magnet_coef=0"
            yield Fault(("magnet_coef",), text)

    def _faults_of_steps(self, key: str, target: float) -> Iterator[Fault]:
        """Fault of an update whose divergence is 0, beside a setting that follows it."""
        if self.passes * self.per_pass == 1:
            text = f"{key} is {target:g}, but an update takes a single step, before which the policy has not moved"
            yield Fault((key,), f"{text}; set update_epochs or num_minibatches to 2 or more")


def ppo_loss(
    log_probs: Tensor, entropies: Tensor, values: Tensor, batch: Batch, settings: PPOSettings
) -> tuple[Tensor, dict[str, Tensor]]:
    """PPO's loss of one minibatch, given what the present policy makes of its rows.

    Rows whose mask is False have no weight in any mean, nor in the normalisation of advantages, and no gradient,
    whatever they hold. Where a single row counts, its normalised advantage is 0.

    Args:
        log_probs: (B,) float, log-probability of ``batch.actions`` under the present policy.
        entropies: (B,) float, entropy of the present policy in each row.
        values: (B,) float, of the current value function.
        batch: the rows.
        settings: the coefficients, schedules replaced by numbers.

    Returns:
        The loss, a scalar with gradient:
        ``policy_loss - (ent_coef + magnet_coef) * entropy + vf_coef * value_loss + kl_coef * approx_kl``; and its
        diagnostics by name
        (``PPO.loss_diagnostics``), scalars without gradient. The gradient of approx_kl is on average that of the KL
        divergence from the policy that acted (section 4 of the paper).
    """
    mask = batch.mask
    advantages = blank(batch.advantages, mask)
    if settings.norm_adv:
        advantages = normalise(advantages, mask)
    if batch.importance is not None:
        advantages = advantages * batch.importance

    # policy: the pessimistic one of the plain and the clipped surrogate
    log_ratio = blank(log_probs, mask) - blank(batch.log_probs, mask)
    ratio = log_ratio.exp()
    clipped_ratio = _clamp(ratio, 1 - settings.clip_coef, 1 + settings.clip_coef)
    policy_loss = mean(torch.max(-advantages * ratio, -advantages * clipped_ratio), mask)

    # value: half the squared error, likewise clipped around the old value
    new, old, returns = blank(values, mask), blank(batch.values, mask), blank(batch.returns, mask)
    squared_error = (new - returns) ** 2
    if settings.clip_vloss:
        clipped = old + _clamp(new - old, -settings.clip_coef, settings.clip_coef)
        squared_error = torch.max(squared_error, (clipped - returns) ** 2)
    value_loss = 0.5 * mean(squared_error, mask)

    entropy = mean(entropies, mask)
    loss = policy_loss - (settings.ent_coef + settings.magnet_coef) * entropy + settings.vf_coef * value_loss
    if isinstance(settings.kl_coef, Tensor) or settings.kl_coef > 0:
        loss = loss + settings.kl_coef * _approx_kl(ratio, log_ratio, mask)

    with torch.no_grad():
        diagnostics = {
            "policy_loss": policy_loss.detach(),
            "value_loss": value_loss.detach(),
            "entropy": entropy.detach(),
            "approx_kl": _approx_kl(ratio, log_ratio, mask),
            "old_approx_kl": mean(-log_ratio, mask),  # the same page, k1
            "clipfrac": mean(((ratio - 1.0).abs() > settings.clip_coef).to(ratio.dtype), mask),
        }
    return loss, diagnostics


def _approx_kl(ratio: Tensor, log_ratio: Tensor, mask: Tensor | None) -> Tensor:
    """KL divergence from the policy that acted, estimated by its actions: http://joschu.net/blog/kl-approx.html, k3."""
    return mean((ratio - 1) - log_ratio, mask)


def _clamp(x: Tensor, low: Any, high: Any) -> Tensor:
    """``x`` between two bounds, floats or () tensors; torch would read the latter back to the host as they are."""
    if isinstance(low, Tensor):
        low, high = low.expand_as(x), high.expand_as(x)
    return x.clamp(low, high)


class PPO(OnPolicy):
    """PPO for one policy: ``update_epochs`` passes over each rollout."""

    Settings: ClassVar[type[OnPolicySettings]] = PPOSettings
    loss_diagnostics = ("policy_loss", "value_loss", "entropy", "approx_kl", "old_approx_kl", "clipfrac")
    loss_has_ratio = True
    settings: PPOSettings
    now: PPOSettings

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        if (target := self.settings.kl_coef_target) is not None:
            self._check_divergence("kl_coef_target", target)
            self.penalty = KLPenalty(self.settings.kl_coef, target, self.parameters.vector.device)

    @property
    def num_epochs(self) -> int:
        """Passes over a rollout, at most."""
        return self.settings.passes

    def loss_of(self, log_probs: Tensor, entropies: Tensor, values: Tensor, minibatch: Batch) -> Losses:
        """``ppo_loss`` with the present coefficients."""
        return ppo_loss(log_probs, entropies, values, minibatch, self.now)

    def loss_terms(self) -> LossTerms:
        """Terms of the loss, with the present coefficients."""
        return LossTerms(
            surrogate=True,
            clip_value_loss=self.now.clip_vloss,
            normalise_advantages=self.now.norm_adv,
            clip_coef=self.now.clip_coef,
            ent_coef=self.now.ent_coef + self.now.magnet_coef,
            vf_coef=self.now.vf_coef,
            kl_coef=self.now.kl_coef,
        )

    def pulled(self, batch: Experience) -> Experience:
        """Rows with what the divergence to the averaged policy m adds to advantages, see ``magnet_coef``.

        KL(policy, m) = -entropy - E[log m(a)]. The loss has the entropy; of the other part the gradient is that of
        actions whose advantages have magnet_coef * log m(a) more. m's entropy is added too: it is the same for all
        actions, and makes the sum 0 on average where the policy is m.
        """
        if self.average is None or self.settings.magnet_coef == 0:
            return batch
        rows, distribution = batch.rows, cast(Any, self.policy.distribution)
        with torch.no_grad():
            outputs = self.average.policy.outputs(rows.observations)
            log_probs, entropies = distribution.log_prob_and_entropy(outputs, rows.actions, rows.action_masks)
            return rows.with_columns(advantages=rows.advantages + self.now.magnet_coef * (log_probs + entropies))

    def segment_draws(self) -> SegmentDraws | None:
        """The rule of ``priority_alpha``."""
        alpha, settings = self.settings.priority_alpha, self.settings
        if alpha is None:
            return None
        return SegmentDraws(alpha, self.now.priority_beta, settings.per_pass, len(settings.groups))

    def rate_rule(self) -> RateRule | None:
        """The rule of ``desired_kl``.

        Raises:
            ConfigError: a loss of one's own does not give the divergence.
        """
        settings = self.settings
        if settings.desired_kl is None:
            return None
        self._check_divergence("desired_kl", settings.desired_kl)
        return RateRule(settings.desired_kl, *settings.learning_rate_limits)

    def _check_divergence(self, key: str, target: float) -> None:
        """Refuse a setting that follows the KL divergence, where the loss does not give it."""
        if "approx_kl" not in self.loss_diagnostics:
            raise ConfigError(
                f"{key} is {target:g}, but the loss of {type(self).__name__} has no approx_kl among "
                f"its loss_diagnostics; add it, or set {key}=null"
            )

    @property
    def may_end_early(self) -> bool:
        """Whether an update may end early: with ``target_kl``, if it has several epochs."""
        return self.settings.target_kl is not None and self.num_epochs > 1

    def is_enough(self, diagnostics: Mapping[str, Tensor]) -> bool:
        """Whether the policy has moved so far that the update ends after this epoch; waits for the device."""
        limit = self.settings.target_kl
        return limit is not None and diagnostics["approx_kl"].item() > limit

    # ---- a coefficient that follows the KL divergence ----------------------------------------------------------------
    def charts(self) -> dict[str, float | Tensor]:
        """The learning rate, and the coefficient of the next update's penalty if it follows the KL divergence."""
        return {**super().charts(), **self._coefficient()}

    def state_dict(self) -> dict[str, Any]:
        """The optimiser, and that coefficient."""
        return {**super().state_dict(), **self._coefficient()}

    def check_state(self, saved: Mapping[str, Any]) -> None:
        """Whether the optimiser's state fits, and there is a coefficient where one is needed."""
        super().check_state(saved)
        for name in self._coefficient():
            if not (isinstance(saved.get(name), Tensor) and saved[name].numel() == 1):
                raise RunError(f"the saved learner's {name} is {reprlib.repr(saved.get(name))}, expected a tensor ()")

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continue from a ``state_dict``; errors as of ``OnPolicy``."""
        super().load_state_dict(saved)
        for name, coefficient in self._coefficient().items():
            coefficient.copy_(saved[name])

    def _coefficient(self) -> dict[str, Tensor]:
        """The coefficient by its name, if there is one."""
        return {} if self.penalty is None else {"kl_coef": self.penalty.coefficient}
