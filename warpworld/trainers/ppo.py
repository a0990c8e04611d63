"""Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347) with CleanRL's formulas and names."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from warpworld.errors import RunError, StoreError
from warpworld.policies import ActorCritic
from warpworld.trainers.distributions import log_prob_and_entropy

ADAM_EPS = 1e-5
NORM_EPS = 1e-8  # keeps equal advantages from dividing by zero

LOSS_DIAGNOSTICS = ("policy_loss", "value_loss", "entropy", "approx_kl", "old_approx_kl", "clipfrac")
DIAGNOSTICS = (*LOSS_DIAGNOSTICS, "explained_variance")


class PPOSettings(Protocol):
    """What PPO reads of a policy's settings."""

    learning_rate: float
    anneal_lr: bool
    update_epochs: int
    num_minibatches: int
    clip_coef: float
    clip_vloss: bool
    norm_adv: bool
    ent_coef: float
    vf_coef: float
    max_grad_norm: float
    target_kl: float | None


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows to learn from: one per agent and step, B of them, in any order.

    Attributes:
        observations: (B, F) float32.
        actions: (B, heads) integer.
        log_probs: (B,) float32, log-probability of the actions under the policy that took them.
        advantages: (B,) float32.
        returns: (B,) float32, what the value function should say.
        values: (B,) float32, what it said when the actions were taken.
        mask: (B,) bool, False for rows that do not count; None counts all.
    """

    observations: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor
    mask: Tensor | None = None

    def __post_init__(self) -> None:
        """Refuse what would otherwise broadcast to wrong numbers in silence."""
        rows = len(self.observations)
        for name, tensor in self.named_tensors():
            dims = 2 if name in ("observations", "actions") else 1
            if tensor.dim() != dims or len(tensor) != rows:
                wanted = f"({rows}, ...)" if dims == 2 else f"({rows},)"
                raise StoreError(f"batch {name}: shape {tuple(tensor.shape)}, expected {wanted} like its other tensors")
        if self.mask is not None and self.mask.dtype != torch.bool:
            raise StoreError(f"batch mask: dtype {self.mask.dtype}, expected torch.bool")

    def __len__(self) -> int:
        return len(self.observations)

    @staticmethod
    def join(batches: Sequence[Batch]) -> Batch:
        """The rows of several batches, one after the other; all have a mask, or none has."""
        if len(batches) == 1:
            return batches[0]
        columns = [dict(batch.named_tensors()) for batch in batches]
        return Batch(**{name: torch.cat([column[name] for column in columns]) for name in columns[0]})

    def counted(self) -> Batch:
        """Only the rows that count; reads their number back to the host where there is a mask."""
        if self.mask is None:
            return self
        return dataclasses.replace(self.take(self.mask.nonzero().squeeze(1)), mask=None)

    def take(self, rows: Tensor) -> Batch:
        """A copy of the given rows, (rows,) int64, in that order."""
        return Batch(**{name: tensor.index_select(0, rows) for name, tensor in self.named_tensors()})

    def split(self, parts: int) -> Iterator[Batch]:
        """Views of successive rows, in at most ``parts`` parts whose lengths differ by one at most; none is empty."""
        parts = max(1, min(parts, len(self)))
        names, tensors = zip(*self.named_tensors(), strict=True)
        for pieces in zip(*(tensor.tensor_split(parts) for tensor in tensors), strict=True):
            yield Batch(**dict(zip(names, pieces, strict=True)))

    def named_tensors(self) -> list[tuple[str, Tensor]]:
        """Name and tensor of each field that is set."""
        fields = [(field.name, getattr(self, field.name)) for field in dataclasses.fields(self)]
        return [(name, tensor) for name, tensor in fields if tensor is not None]


def ppo_loss(
    log_probs: Tensor, entropies: Tensor, values: Tensor, batch: Batch, settings: PPOSettings
) -> tuple[Tensor, dict[str, Tensor]]:
    """PPO's loss of one minibatch, given what the present policy makes of its rows.

    Rows whose mask is False have no weight in any mean, nor in the normalisation of advantages, and no gradient,
    whatever they hold. Where a single row counts, its normalised advantage is 0.

    Args:
        log_probs: (B,) float, log-probability of ``batch.actions`` under the present policy.
        entropies: (B,) float, entropy of the present policy in each row.
        values: (B,) float, what the present value function says.
        batch: the rows.
        settings: clip_coef, clip_vloss, norm_adv, ent_coef and vf_coef are read.

    Returns:
        The loss, a scalar with gradient: ``policy_loss - ent_coef * entropy + vf_coef * value_loss``; and its
        diagnostics by name (``LOSS_DIAGNOSTICS``), scalars without gradient.
    """
    mask = batch.mask
    advantages = _blank(batch.advantages, mask)
    if settings.norm_adv:
        advantages = _normalise(advantages, mask)

    # policy: the pessimistic one of the plain and the clipped surrogate
    log_ratio = _blank(log_probs, mask) - _blank(batch.log_probs, mask)
    ratio = log_ratio.exp()
    clipped_ratio = ratio.clamp(1 - settings.clip_coef, 1 + settings.clip_coef)
    policy_loss = _mean(torch.max(-advantages * ratio, -advantages * clipped_ratio), mask)

    # value: half the squared error, likewise clipped around the old value
    new, old, returns = _blank(values, mask), _blank(batch.values, mask), _blank(batch.returns, mask)
    squared_error = (new - returns) ** 2
    if settings.clip_vloss:
        clipped = old + (new - old).clamp(-settings.clip_coef, settings.clip_coef)
        squared_error = torch.max(squared_error, (clipped - returns) ** 2)
    value_loss = 0.5 * _mean(squared_error, mask)

    entropy = _mean(entropies, mask)
    loss = policy_loss - settings.ent_coef * entropy + settings.vf_coef * value_loss

    with torch.no_grad():
        diagnostics = {
            "policy_loss": policy_loss.detach(),
            "value_loss": value_loss.detach(),
            "entropy": entropy.detach(),
            "approx_kl": _mean((ratio - 1) - log_ratio, mask),  # http://joschu.net/blog/kl-approx.html, k3
            "old_approx_kl": _mean(-log_ratio, mask),  # the same page, k1
            "clipfrac": _mean(((ratio - 1.0).abs() > settings.clip_coef).to(ratio.dtype), mask),
        }
    return loss, diagnostics


class PPO:
    """One policy's learner: the policy, its optimiser and its settings.

    Attributes:
        policy: trained in place.
        optimizer: Adam over all its parameters.
        settings: learning settings.
    """

    def __init__(self, policy: ActorCritic, settings: PPOSettings) -> None:
        """Take a policy that lies on its device already."""
        self.policy = policy
        self.settings = settings
        self.optimizer = _adam(policy, settings.learning_rate)

    @property
    def learning_rate(self) -> float:
        """The learning rate that the next update uses."""
        return float(self.optimizer.param_groups[0]["lr"])

    def set_progress(self, fraction: float) -> None:
        """Say how much of the training is done, in [0, 1]: with ``anneal_lr`` the learning rate falls in proportion."""
        if self.settings.anneal_lr:
            remaining = 1.0 - min(max(fraction, 0.0), 1.0)
            self.optimizer.param_groups[0]["lr"] = remaining * self.settings.learning_rate

    def update(self, batch: Batch, generator: torch.Generator) -> dict[str, float]:
        """Learn from a rollout: ``update_epochs`` passes in a new order, each in ``num_minibatches`` steps of Adam.

        Rows that do not count are dropped first. The host waits for the device once, at the end; besides, with a mask,
        once at the start; with ``target_kl``, or a generator on another device than the policy's, once an epoch.

        Args:
            batch: rows on the policy's device.
            generator: what the orders are drawn from, and nothing else.

        Returns:
            ``DIAGNOSTICS`` by name. Those of the loss are means over all minibatches of the update; explained_variance
            is that of ``batch.values``, 0 where the returns do not differ. All are 0 if no row counts.
        """
        rows = batch.counted()
        if len(rows) == 0:
            return dict.fromkeys(DIAGNOSTICS, 0.0)
        seen: list[dict[str, Tensor]] = []
        for _ in range(self.settings.update_epochs):
            order = torch.randperm(len(rows), generator=generator, device=generator.device)
            shuffled = rows.take(order.to(rows.observations.device))
            seen += [self._step(minibatch) for minibatch in shuffled.split(self.settings.num_minibatches)]
            if self.settings.target_kl is not None and seen[-1]["approx_kl"].item() > self.settings.target_kl:
                break
        means = torch.stack([torch.stack([d[name] for d in seen]).mean() for name in LOSS_DIAGNOSTICS])
        diagnostics = torch.cat((means, _explained_variance(rows.values, rows.returns).reshape(1)))
        return dict(zip(DIAGNOSTICS, diagnostics.tolist(), strict=True))

    def state_dict(self) -> dict[str, Any]:
        """Weights and optimiser, as references to the live tensors."""
        return {"policy": self.policy.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a ``state_dict``, copying its tensors.

        Raises:
            RunError: the state belongs to a policy of other sizes.
        """
        try:
            self.policy.load_state_dict(state["policy"])
            # without a copy Adam would adopt the moments themselves, and two learners would share them
            self.optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        except (KeyError, RuntimeError, ValueError) as error:
            raise RunError(
                f"the saved state does not fit this policy ({' '.join(str(error).split())}); "
                "use the model settings and the env that it was saved with"
            ) from error

    def _step(self, minibatch: Batch) -> dict[str, Tensor]:
        """One step of Adam; returns the loss's diagnostics from before it."""
        logits, values = self.policy(minibatch.observations)
        log_probs, entropies = log_prob_and_entropy(logits, minibatch.actions, self.policy.head_sizes)
        loss, diagnostics = ppo_loss(log_probs, entropies, values, minibatch, self.settings)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), self.settings.max_grad_norm)
        self.optimizer.step()
        return diagnostics


def _adam(policy: nn.Module, learning_rate: float) -> torch.optim.Adam:
    """Adam, fused into one kernel where this torch can do that for the policy's device."""
    try:
        return torch.optim.Adam(policy.parameters(), lr=learning_rate, eps=ADAM_EPS, fused=True)
    except RuntimeError:
        return torch.optim.Adam(policy.parameters(), lr=learning_rate, eps=ADAM_EPS)


def _blank(x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` with 0 in rows that do not count: a mere weight of 0 would let NaN and inf through to the gradient."""
    return x if mask is None else torch.where(mask, x, 0.0)


def _sum(x: Tensor, mask: Tensor | None) -> Tensor:
    """Sum of the rows that count."""
    return _blank(x, mask).sum()


def _count(x: Tensor, mask: Tensor | None, spare: int = 0) -> Tensor | int:
    """Number of rows that count, less ``spare``, but at least 1: a divisor."""
    return max(len(x) - spare, 1) if mask is None else (mask.sum() - spare).clamp(min=1)


def _mean(x: Tensor, mask: Tensor | None) -> Tensor:
    """Mean of the rows that count, 0 if there are none."""
    return _sum(x, mask) / _count(x, mask)


def _normalise(x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` shifted and scaled to mean 0 and (unbiased) standard deviation 1 of the rows that count."""
    centred = x - _mean(x, mask)
    variance = _sum(centred**2, mask) / _count(x, mask, spare=1)
    return centred / (variance.sqrt() + NORM_EPS)


def _explained_variance(values: Tensor, returns: Tensor) -> Tensor:
    """1 - Var(returns - values) / Var(returns): 1 is perfect, 0 no better than a constant; 0 if returns are equal."""
    variance = returns.var(correction=0)
    return torch.where(variance > 0, 1.0 - (returns - values).var(correction=0) / variance, 0.0)
