"""Base of algorithms that learn values from windows of past steps, where their policy remembers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from warpworld.config import Count, Fault, Fraction, Sizes
from warpworld.policies import RecurrentQNetwork, StatefulModel
from warpworld.trainers.algorithms.q_learning import Evaluated, QLearning, QSettings

__all__ = ["Evaluated", "Walk", "WindowLearning", "WindowSettings"]


class WindowSettings(QSettings):
    """Settings of algorithms that learn from windows where their model remembers."""

    burn_in: Annotated[int, Field(ge=0, le=10_000)] = Field(
        default=40, description="steps that bring the memory up to date before those that are learnt from"
    )
    train_length: Count = Field(default=80, le=10_000, description="steps of a window that are learnt from")
    priority_eta: Fraction = Field(
        default=0.9, description="share of a window's largest error in its priority; the rest is the mean's"
    )

    @classmethod
    def own_keys(cls) -> tuple[str, ...]:
        """Keys that mean something to windows alone."""
        return ("burn_in", "train_length", "priority_eta")

    @property
    def length(self) -> int:
        """Steps of a window."""
        return self.burn_in + self.train_length + self.n_step

    def rows(self, sizes: Sizes) -> int:
        """Rows of the ring; of windows a whole number."""
        return self.whole_rows(super().rows(sizes))

    def whole_rows(self, rows: int) -> int:
        """Rows in whole windows."""
        return math.ceil(rows / self.train_length) * self.train_length if self.model.remembers else rows

    def least_rows(self, sizes: Sizes) -> int:
        """Rows that the ring needs; to hold one whole window, also while an iteration's rows are written."""
        if not self.model.remembers:
            return super().least_rows(sizes)
        return self.whole_rows(self.length + max(sizes.num_steps, self.train_length))

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Windows keep no final observations."""
        if self.final_observations and self.model.remembers:
            text = "final_observations is true, but windows keep none, expected false or null"
            yield Fault(("final_observations",), text)
        yield from super().faults(sizes)


@dataclass(frozen=True)
class Walk:
    """S agents' ways through windows of L = burn_in + trained + n steps.

    Attributes:
        features: (L, S, features).
        states: (S, state size), before the first step.
        starts: (L, S) bool, where the state is zeroed before the step.
        masks: (trained + n, S, choices) bool, False for choices that are forbidden; None where none ever is.
    """

    features: Tensor
    states: Tensor
    starts: Tensor
    masks: Tensor | None


class WindowLearning(QLearning):
    """Q-learning that walks through windows, and says what they lose.

    Network and target walk through a window from the memory that its agent had when it acted there. The first
    ``burn_in`` steps warm that memory up, without a gradient; the next ``train_length`` are learnt from.
    """

    settings: WindowSettings

    def walked(self, walk: Walk) -> tuple[Tensor, Tensor]:
        """Values of windows by network and target.

        Returns:
            Values of all choices in the T trained steps, (T, S, choices), with a gradient; and the target's values of
            the best choices in these and the steps that follow, (T + n, S).
        """
        own, target, settings = self.policy.model, self.target.module, self.settings
        assert isinstance(own, RecurrentQNetwork | StatefulModel)
        assert isinstance(target, RecurrentQNetwork | StatefulModel)
        features, starts, burn_in = walk.features, walk.starts, settings.burn_in
        trained, behind = slice(burn_in, burn_in + settings.train_length), slice(burn_in + settings.train_length, None)
        # the state after burn-in, and the target's values
        with torch.no_grad():
            state = own.walk(features[:burn_in], walk.states, starts[:burn_in])[1] if burn_in else walk.states
            by_target = target.walk(features, walk.states, starts)[0][burn_in:]
        # values of the trained steps, with a gradient
        values, after = own.walk(features[trained], state, starts[trained])
        # the best choices, by the trained network if double
        with torch.no_grad():
            chooses = by_target
            if settings.double:
                last = own.walk(features[behind], after, starts[behind])[0]
                chooses = torch.cat((values, last))
            return values, self.best_values(by_target, chooses, walk.masks)

    def window_loss(self, values: Tensor, targets: Tensor, learnt: Tensor, weights: Tensor) -> Evaluated:
        """Loss of B windows, a mean over windows of w * sum of huber(delta), with their priorities.

        A priority is eta * max |delta| + (1 - eta) * mean |delta|, with eta = ``priority_eta``.

        Args:
            values: (T, B), of what was done, with a gradient.
            targets: (T, B).
            learnt: (T, B) bool, whether a step is learnt from; elsewhere targets may hold anything.
            weights: (B,) importance weights.
        """
        eta = self.settings.priority_eta
        targets = torch.where(learnt, targets, values.detach())  # no loss, no gradient and no error elsewhere
        losses = functional.smooth_l1_loss(values, targets, reduction="none")
        errors, counts = (targets - values.detach()).abs(), learnt.sum(0).clamp(min=1)
        priorities = eta * errors.amax(0) + (1 - eta) * errors.sum(0) / counts
        value = torch.where(learnt, values.detach(), 0.0).sum() / learnt.sum().clamp(min=1)
        return Evaluated((weights * losses.sum(0)).mean(), priorities, value)
