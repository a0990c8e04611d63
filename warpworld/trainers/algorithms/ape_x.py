"""Ape-X (Horgan et al. 2018, arXiv 1803.00933): DQN with the values of RELA's ref_run_apex.sh, for Atari."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from warpworld.config import ALGORITHM, Count, Fraction, Positive, PositiveSchedule
from warpworld.trainers.algorithms.dqn import DQN, DQNSettings


class ApeXSettings(DQNSettings):
    """One entry of the ``policy`` section with ``algorithm: ape_x``: the keys of ``dqn``, other defaults."""

    algorithm: Literal["ape_x"] = Field(default="ape_x", description=ALGORITHM)  # type: ignore[assignment]
    learning_rate: PositiveSchedule = Field(default=6.25e-5, description="step size")
    optimizer: Literal["adam", "rmsprop", "muon"] = Field(default="rmsprop", description="adam, rmsprop or muon")
    optimizer_eps: Positive = Field(default=1.5e-7, description="what the optimiser adds to its denominator")
    gamma: Fraction = Field(default=0.997, description="discount per step")
    replay_size: Count = Field(default=2_000_000, description="transitions that are kept, rounded up to whole rows")
    learning_starts: Count = Field(default=80_000, description="transitions before the first update")
    batch_size: Count = Field(default=512, le=2**24, description="transitions of an update, in all processes together")
    first_priority: Literal["max", "actor"] = Field(
        default="actor",
        description="a new transition's priority: max, the largest so far; or actor, its error when it was acted",
    )
    max_grad_norm: Positive | None = Field(
        default=40.0, description="longest gradient; longer ones are scaled down; null leaves them"
    )
    target_every: Count | None = Field(
        default=2500, description="updates between two copies to the target network; null where tau is set"
    )


class ApeX(DQN):
    """DQN whose actors explore each at a rate of its own, and give new transitions their first priority."""

    Settings = ApeXSettings
