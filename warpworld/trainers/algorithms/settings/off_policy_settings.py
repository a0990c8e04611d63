"""Settings that all off-policy algorithms have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, Literal

import torch
from pydantic import Field

from warpworld.config import (
    Count,
    Fault,
    Flag,
    Fraction,
    FractionSchedule,
    Positive,
    PositiveSchedule,
    RewardSettings,
    Sizes,
)
from warpworld.environment import Group, observation_parts
from warpworld.trainers.algorithms.parameters import OptimizerMaker, adam, muon, rmsprop
from warpworld.trainers.replay import FAN

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {"adam": adam, "rmsprop": rmsprop, "muon": muon}


class OffPolicySettings(RewardSettings):
    """Settings that all off-policy algorithms have.

    Attributes:
        learns_of: what a transition is one of, for messages.
    """

    off_policy: ClassVar[bool] = True
    learns_of: ClassVar[str] = "agent"

    learning_rate: PositiveSchedule = Field(default=2.5e-4, description="step size")
    optimizer: Literal["adam", "rmsprop", "muon"] = Field(default="adam", description="adam, rmsprop or muon")
    optimizer_eps: Positive = Field(default=1e-8, description="what the optimiser adds to its denominator")
    gamma: Fraction = Field(default=0.99, description="discount per step")
    n_step: Count = Field(default=1, le=1000, description="steps of a transition")
    replay_size: Count = Field(default=100_000, description="transitions that are kept, rounded up to whole rows")
    learning_starts: Count = Field(default=10_000, description="transitions before the first update")
    batch_size: Count = Field(default=128, le=2**24, description="transitions of an update, in all processes together")
    updates: Count = Field(default=1, description="gradient steps per iteration")
    priority_alpha: Fraction = Field(default=0.0, description="how much priorities count in draws; 0 draws uniformly")
    priority_beta: FractionSchedule = Field(
        default=0.4, description="how far weights make up for priorities; 1 does so fully"
    )
    first_priority: Literal["max", "actor"] = Field(
        default="max",
        description="a new transition's priority: max, the largest so far; or actor, its error when it was acted",
    )
    max_grad_norm: Positive | None = Field(
        default=None, description="longest gradient; longer ones are scaled down; null leaves them"
    )
    final_observations: Flag | None = Field(
        default=None,
        description="keep final observations of truncated episodes; null keeps those of up to 256 bytes",
    )

    def per_env(self, sizes: Sizes) -> int:
        """Transitions that a step of an env gives: one of each agent."""
        return sizes.agents

    def rows(self, sizes: Sizes) -> int:
        """Rows of the ring: steps of all envs."""
        return math.ceil(self.replay_size / (sizes.num_envs * self.per_env(sizes)))

    def whole_rows(self, rows: int) -> int:
        """The least number of rows that can be added to a ring for so many more."""
        return rows

    def faults(self, sizes: Sizes) -> Iterator[Fault]:
        """The ring holds what an update needs, and learning starts when it is there."""
        yield from super().faults(sizes)
        # size of the ring
        rows, needed = self.rows(sizes), self.least_rows(sizes)
        per_env = self.per_env(sizes)
        row = sizes.num_envs * per_env
        if rows < needed:
            yield Fault(
                ("replay_size",),
                f"replay_size is {self.replay_size}, expected at least {needed * row}: {needed} rows of num_envs "
                f"{sizes.num_envs} x {per_env} {self.learns_of}{'s' * (per_env != 1)}",
                of_sizes=True,
            )
        if rows * row > 2**31 - FAN**2:  # items are numbered in 32 bits, up to a multiple of FAN^2
            yield Fault(("replay_size",), f"replay_size is {self.replay_size}, expected less than 2^31 transitions")
        # start of learning
        if self.learning_starts > self.replay_size:
            text = f"learning_starts is {self.learning_starts}, expected at most replay_size, {self.replay_size}"
            yield Fault(("learning_starts", "replay_size"), text)
        if self.learning_starts < self.batch_size:
            text = f"learning_starts is {self.learning_starts}, expected at least batch_size, {self.batch_size}"
            yield Fault(("learning_starts", "batch_size"), text)

    def misfits(self, group: Group) -> Iterator[Fault]:
        """Faults of a group for these settings: with normalisation, it must observe floats."""
        if self.model.normalise_observations and not any(part.is_float for part in observation_parts(group).values()):
            yield Fault(
                ("model.normalise_observations",),
                f"model.normalise_observations is true, but group '{group.name}' sees no floats: what it reads of "
                f"{group.observation} is between 0 and 1 already; set it to false",
            )

    def least_rows(self, sizes: Sizes) -> int:
        """Rows that the ring has at least."""
        return sizes.num_steps + self.n_step + 1

    @property
    def optimizer_maker(self) -> OptimizerMaker:
        """Build the optimiser of a vector."""
        return partial(OPTIMIZERS[self.optimizer], eps=self.optimizer_eps)

    @property
    def maker_without_matrices(self) -> OptimizerMaker:
        """Build the optimiser of parameters without a matrix, such as a temperature: Adam in place of Muon."""
        return partial(adam, eps=self.optimizer_eps) if self.optimizer == "muon" else self.optimizer_maker
