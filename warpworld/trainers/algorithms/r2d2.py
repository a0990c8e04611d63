"""R2D2 (Kapturowski et al. 2019): recurrent Q-learning on windows of past steps, from the memory that agents had."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

import torch
from gymnasium.spaces import Box
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from warpworld.config import (
    ALGORITHM,
    CELLS,
    Count,
    Fault,
    Flag,
    Fraction,
    FractionSchedule,
    Positive,
    PositiveSchedule,
    Sizes,
)
from warpworld.environment import Group, action_heads
from warpworld.policies import DuelingHeads, HeadsMaker, RecurrentQNetwork, StatefulModel, make_cell
from warpworld.trainers.algorithms import Evaluated, OffPolicySettings, QLearning, QSettings
from warpworld.trainers.collecting import Collector
from warpworld.trainers.replay import WindowReplay, Windows, WindowSizes


class R2D2Settings(QSettings):
    """One entry of the ``policy`` section with ``algorithm: r2d2``; defaults are RELA's, and the paper's rescaling."""

    algorithm: Literal["r2d2"] = Field(default="r2d2", description=ALGORITHM)
    learning_rate: PositiveSchedule = Field(default=1e-4, description="step size")
    optimizer_eps: Positive = Field(default=1e-3, description="what the optimiser adds to its denominator")
    gamma: Fraction = Field(default=0.997, description="discount per step")
    replay_size: Count = Field(default=4_000_000, description="transitions that are kept, rounded up to whole windows")
    learning_starts: Count = Field(default=320_000, description="transitions before the first update")
    batch_size: Count = Field(default=64, le=2**24, description="windows of an update, in all processes together")
    burn_in: Annotated[int, Field(ge=0, le=10_000)] = Field(
        default=40, description="steps that bring the memory up to date before those that are learnt from"
    )
    train_length: Count = Field(default=80, le=10_000, description="steps of a window that are learnt from")
    priority_alpha: Fraction = Field(default=0.9, description="how much priorities count in draws; 0 draws uniformly")
    priority_beta: FractionSchedule = Field(
        default=0.6, description="how far weights make up for priorities; 1 does so fully"
    )
    priority_eta: Fraction = Field(
        default=0.9, description="share of a window's largest error in its priority; the rest is the mean's"
    )
    first_priority: Literal["max", "actor"] = Field(
        default="actor",
        description="a new window's priority: max, the largest so far; or actor, by its errors when it was acted",
    )
    max_grad_norm: Positive | None = Field(
        default=40.0, description="longest gradient; longer ones are scaled down; null leaves them"
    )
    target_every: Count | None = Field(
        default=2500, description="updates between two copies to the target network; null where tau is set"
    )
    value_rescale: Flag = Field(default=True, description="learn values on a scale that grows with their square root")
    final_observations: Flag | None = Field(
        default=None, description="windows keep none: a return ends a step before its episode is truncated"
    )

    @property
    def length(self) -> int:
        """Steps of a window."""
        return self.burn_in + self.train_length + self.n_step

    def rows(self, sizes: Sizes) -> int:
        """Rows of the ring: whole windows."""
        return self.whole_rows(super().rows(sizes))

    def whole_rows(self, rows: int) -> int:
        """Rows in whole windows."""
        return math.ceil(rows / self.train_length) * self.train_length

    def least_rows(self, sizes: Sizes) -> int:
        """Rows that the ring needs to hold one whole window, also while an iteration's rows are written."""
        return self.whole_rows(self.length + max(sizes.num_steps, self.train_length))

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Windows are of a policy that remembers."""
        if not self.model.remembers:
            text = f"model.recurrent is null, but r2d2 learns with a memory, expected {CELLS}"
            yield Fault(("model.recurrent", "model"), f"{text}; algorithm: dqn learns without one")
        if self.final_observations:
            text = "final_observations is true, but windows keep none, expected false or null"
            yield Fault(("final_observations",), text)
        yield from super().faults(sizes)


class R2D2(QLearning):
    """Q-learning on windows of successive steps of agents that remember.

    Network and target read a window from the memory that its agent had when it acted there. The first ``burn_in`` steps
    warm that memory up, without a gradient; the next ``train_length`` are learnt from. With delta = target - Q(s, a) in
    each step, the loss is the mean over windows of w * sum of huber(delta) over the steps that count, a window's
    priority eta * max |delta| + (1 - eta) * mean |delta|.
    """

    Settings: ClassVar[type[OffPolicySettings]] = R2D2Settings
    settings: R2D2Settings
    replay: WindowReplay

    @classmethod
    def network(cls, settings: Any, group: Group, critic_input: Box | None) -> HeadsMaker | None:
        """An encoder with a recurrent cell and heads behind it; None for a model with a state of its own."""
        model, head_sizes = settings.model, action_heads(group.action)
        if model.declares_state:
            return None

        def make(encoder: torch.nn.Module, width: int) -> RecurrentQNetwork:
            heads = DuelingHeads(model.recurrent_size, head_sizes, settings.dueling)
            return RecurrentQNetwork(encoder, make_cell(model, width), heads)

        return make

    def make_replay(self, collector: Collector, rows: int) -> WindowReplay:
        """A replay of windows."""
        settings = self.settings
        sizes = WindowSizes(
            **self.draw_sizes(rows),
            value_rescale=settings.value_rescale,
            state_size=self.policy.state_size,
            burn_in=settings.burn_in,
            train_length=settings.train_length,
            eta=settings.priority_eta,
        )
        return WindowReplay(collector, settings.groups, sizes, self.processes)

    def charts(self) -> dict[str, float]:
        """Charts as ``OffPolicy``'s, with a replay ratio that counts all transitions of a window."""
        charts = super().charts()
        return {**charts, "replay_ratio": charts["replay_ratio"] * self.settings.train_length}

    def evaluate(self) -> Evaluated:
        """Draw windows and evaluate them."""
        batch, eta = self.replay.draw(self.beta), self.settings.priority_eta
        values, following = self.unrolled(batch)
        values = self.of_actions(values, batch.actions)
        targets = self.targets_of(batch.returns, batch.discounts, following.gather(0, batch.following))
        targets = torch.where(batch.learnt, targets, values.detach())  # no loss, no gradient and no error elsewhere
        losses = functional.smooth_l1_loss(values, targets, reduction="none")
        errors, counts = (targets - values.detach()).abs(), batch.learnt.sum(0).clamp(min=1)
        priorities = eta * errors.amax(0) + (1 - eta) * errors.sum(0) / counts
        value = torch.where(batch.learnt, values.detach(), 0.0).sum() / batch.learnt.sum().clamp(min=1)
        return Evaluated((batch.weights * losses.sum(0)).mean(), priorities, value)

    def unrolled(self, batch: Windows) -> tuple[Tensor, Tensor]:
        """Values of windows by network and target.

        Returns:
            Values of all choices in the trained steps, (T, B, choices), with a gradient; and the target's values of the
            best choices in these and the steps that follow, (T + n, B).
        """
        burn_in, settings = self.settings.burn_in, self.settings
        own, target = self.policy.model, self.target.module
        assert isinstance(own, RecurrentQNetwork | StatefulModel) and isinstance(
            target, RecurrentQNetwork | StatefulModel
        )
        features, starts = self.policy.features(batch.observations), batch.starts
        trained, behind = slice(burn_in, burn_in + settings.train_length), slice(burn_in + settings.train_length, None)
        # the state after burn-in, and the target's values
        with torch.no_grad():
            state = own.unroll(features[:burn_in], batch.states, starts[:burn_in])[1] if burn_in else batch.states
            by_target = target.heads(target.unroll(features, batch.states, starts)[0][burn_in:])
        # values of the trained steps, with a gradient
        hidden, after = own.unroll(features[trained], state, starts[trained])
        values = own.heads(hidden)
        # the best choices, by the trained network if double
        with torch.no_grad():
            chooses = by_target
            if settings.double:
                last = own.heads(own.unroll(features[behind], after, starts[behind])[0])
                chooses = torch.cat((values, last))
            return values, self.best_values(by_target, chooses, batch.action_masks)
