"""R2D2 (Kapturowski et al. 2019): recurrent Q-learning on windows of past steps, from the memory that agents had."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import torch
from gymnasium.spaces import Box
from pydantic import Field

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
from warpworld.policies import DuelingHeads, HeadsMaker, RecurrentQNetwork, make_cell
from warpworld.trainers.algorithms.window_learning import Evaluated, Walk, WindowLearning, WindowSettings
from warpworld.trainers.collecting import Collector
from warpworld.trainers.replay import WindowReplay, WindowSizes


class R2D2Settings(WindowSettings):
    """One entry of the ``policy`` section with ``algorithm: r2d2``; defaults are RELA's, and the paper's rescaling."""

    algorithm: Literal["r2d2"] = Field(default="r2d2", description=ALGORITHM)
    learning_rate: PositiveSchedule = Field(default=1e-4, description="step size")
    optimizer_eps: Positive = Field(default=1e-3, description="what the optimiser adds to its denominator")
    gamma: Fraction = Field(default=0.997, description="discount per step")
    replay_size: Count = Field(default=4_000_000, description="transitions that are kept, rounded up to whole windows")
    learning_starts: Count = Field(default=320_000, description="transitions before the first update")
    batch_size: Count = Field(default=64, le=2**24, description="windows of an update, in all processes together")
    priority_alpha: Fraction = Field(default=0.9, description="how much priorities count in draws; 0 draws uniformly")
    priority_beta: FractionSchedule = Field(
        default=0.6, description="how far weights make up for priorities; 1 does so fully"
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

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """Windows are of a policy that remembers."""
        if not self.model.remembers:
            text = f"model.recurrent is null, but r2d2 learns with a memory, expected {CELLS}"
            yield Fault(("model.recurrent", "model"), f"{text}; algorithm: dqn learns without one")
        yield from super().faults(sizes)


class R2D2(WindowLearning):
    """Q-learning on windows of successive steps of agents that remember.

    Network and target read a window from the memory that its agent had when it acted there. The first ``burn_in`` steps
    warm that memory up, without a gradient; the next ``train_length`` are learnt from. With delta = target - Q(s, a) in
    each step, the loss is the mean over windows of w * sum of huber(delta) over the steps that count, a window's
    priority eta * max |delta| + (1 - eta) * mean |delta|.
    """

    Settings: ClassVar[type[R2D2Settings]] = R2D2Settings
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
        batch = self.replay.draw(self.beta)
        walk = Walk(self.policy.features(batch.observations), batch.states, batch.starts, batch.action_masks)
        values, following = self.walked(walk)
        targets = self.targets_of(batch.returns, batch.discounts, following.gather(0, batch.following))
        return self.window_loss(self.of_actions(values, batch.actions), targets, batch.learnt, batch.weights)
