"""REINFORCE with a learnt baseline (Williams 1992), written outside of the package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from warpworld.config import LearnerConfig
from warpworld.config.types import Fraction, PositiveSchedule
from warpworld.errors import RunError
from warpworld.policies import Policy
from warpworld.trainers.algorithms import Algorithm, Progress
from warpworld.trainers.algorithms.experience.trajectory_rows import ends_of, step_values
from warpworld.trainers.algorithms.targets.gae import gae
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.trainers.processes.distributed import ALONE, ProcessGroup


class ReinforceSettings(LearnerConfig):
    learning_rate: PositiveSchedule = Field(default=0.01, description="step size of Adam")
    gamma: Fraction = Field(default=0.9, description="discount per step")


class Reinforce(Algorithm):
    Settings = ReinforceSettings

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=0.0)

    def declare(self, collector: Collector) -> None:
        self.rollout = collector.shared(Rollout)
        for group in self.settings.groups:
            self.rollout.record(group, self.policy)

    def learn(self, progress: Progress) -> dict[str, Tensor]:
        self.optimizer.param_groups[0]["lr"] = self.settings.at(progress.env_steps).learning_rate
        losses = [self._loss(group) for group in self.settings.groups]
        loss = torch.stack(losses).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.detach()}

    def _loss(self, group: str) -> Tensor:
        seen = self.rollout.trajectories(group)
        baseline = step_values(seen, self.policy)
        ends = ends_of(seen, self.policy)
        # discounted returns to the end of the episode, or to the baseline's value behind the rollout
        advantages, returns = gae(values=baseline, **ends, gamma=self.settings.gamma, gae_lambda=1.0)
        outputs, values = self.policy(seen.observations)
        log_probs, _ = self.policy.distribution.log_prob_and_entropy(outputs, seen.actions)
        return (-log_probs * advantages).mean() + 0.5 * ((values - returns) ** 2).mean()

    def charts(self) -> Mapping[str, float]:
        return {"learning_rate": float(self.optimizer.param_groups[0]["lr"])}

    def state_dict(self) -> dict[str, Any]:
        return {"optimizer": self.optimizer.state_dict()}

    def check_state(self, saved: Mapping[str, Any]) -> None:
        if "optimizer" not in saved:
            raise RunError("the saved state lacks optimizer")

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        self.optimizer.load_state_dict(saved["optimizer"])
