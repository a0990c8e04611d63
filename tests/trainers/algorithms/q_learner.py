"""A small off-policy Q-learner whose ring of transitions lies in the world's store, written outside of the package."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pydantic import Field
from torch import Tensor

from warpworld.config import LearnerConfig
from warpworld.config.types import Count, Fraction, PositiveSchedule
from warpworld.environment import Array
from warpworld.errors import RunError
from warpworld.managers.program import Copy
from warpworld.policies import Policy
from warpworld.policies.samplers import Sampler, SamplerContext
from warpworld.trainers.algorithms import Algorithm, Progress
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.recorder import Recorder
from warpworld.trainers.processes.distributed import ALONE, ProcessGroup
from warpworld.world import World


class EpsilonGreedy(Sampler):
    """A way of acting of its own: a kernel file, and an array that holds epsilon."""

    source = Path(__file__).with_name("explore.cu")
    outputs_name = "q_values"

    def __init__(self, context: SamplerContext, choices: int, epsilon: float) -> None:
        self._choices, self._epsilon = choices, epsilon
        super().__init__(context, "explore")

    def constants(self) -> dict[str, int]:
        return {"CHOICES": self._choices}

    def arrays(self) -> dict[str, str]:
        name = f"epsilon_{self.context.group.name}"
        self.context.world.add(Array(name, "float32", (1,), per="world", initial=self._epsilon))
        return {"epsilon": name}

    def draw_at_random(self) -> None:
        raise AssertionError("a Q-learner's group has a policy")


class Ring(Recorder):
    """The latest ``rows`` steps of one group, each in row ``replay_row_GROUP`` of arrays kept as history."""

    def __init__(self, world: World, group: str, rows: int) -> None:
        self.world, self.group, self.rows = world, world.groups[group], rows
        self.row = f"replay_row_{group}"
        world.add(Array(self.row, "int32", per="world", initial=0))
        self.written = f"replay_written_{group}"
        world.add(Array(self.written, "int64", per="world", initial=0))
        self.arrays = {
            name: f"replay_{name}_{group}" for name in ("observations", "actions", "rewards", "terminated", "truncated")
        }
        for name, target in self.arrays.items():
            array = world.data.array(name)
            shape = (rows, *array.full_shape(world.num_envs, world.num_agents))
            world.add(Array(target, array.dtype, shape, per="world"), kept="history")
        for name in ("rewards", "terminated", "truncated"):
            world.record(name, self.arrays[name], self.row)
        world.when_sealed(self._bind)

    def _bind(self) -> None:
        seen = [Copy(name, self.arrays[name], row=self.row) for name in ("observations", "actions")]
        self._copy = self.world.program(seen)

    def acted(self) -> None:
        self._copy()

    def stepped(self) -> None:
        self.world[self.row].add_(1).remainder_(self.rows)
        self.world[self.written].add_(1)

    def __getitem__(self, name: str) -> Tensor:
        return self.world[self.arrays[name]]


class QLearnerSettings(LearnerConfig):
    learning_rate: PositiveSchedule = Field(default=0.01, description="step size of Adam")
    gamma: Fraction = Field(default=0.9, description="discount per step")
    epsilon: Fraction = Field(default=0.3, description="share of actions that are drawn at random")
    replay_rows: Count = Field(default=50, description="steps of every env that are kept")
    batch_size: Count = Field(default=128, description="transitions of one gradient step")
    updates: Count = Field(default=8, description="gradient steps per iteration")
    target_every: Count = Field(default=5, description="iterations between two copies into the target network")


class QLearner(Algorithm):
    Settings = QLearnerSettings
    needs_critic = False
    acts_greedily = True

    def __init__(self, policy: Policy, settings: Any, processes: ProcessGroup = ALONE) -> None:
        super().__init__(policy, settings, processes)
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=0.0)
        self.target = copy.deepcopy(policy).requires_grad_(False)
        self.iterations = 0

    def declare(self, collector: Collector) -> None:
        (group,) = self.settings.groups
        choices = self.policy.distribution.num_outputs
        collector.act(
            group, self.policy, sampler=lambda context, _: EpsilonGreedy(context, choices, self.settings.epsilon)
        )
        self.ring = collector.add(Ring(collector.world, group, self.settings.replay_rows))

    def learn(self, progress: Progress) -> dict[str, Tensor]:
        if self.iterations % self.settings.target_every == 0:
            self.target.load_state_dict(self.policy.state_dict())
        self.iterations += 1
        self.optimizer.param_groups[0]["lr"] = self.settings.at(progress.env_steps).learning_rate
        losses = [self._update(progress.generator) for _ in range(self.settings.updates)]
        return {"loss": torch.stack(losses).mean()}

    def _update(self, generator: torch.Generator) -> Tensor:
        ring, agents = self.ring, self.ring.group.slice
        rows, newest = self._drawn_rows(generator)
        envs = torch.randint(ring.world.num_envs, (len(rows),), generator=generator).to(rows.device)
        following = (rows + 1) % ring.rows
        seen, after = ring["observations"][rows, envs, agents], ring["observations"][following, envs, agents]
        taken = ring["actions"][rows, envs, agents].long()
        rewards = ring["rewards"][rows, envs, agents]
        ended, cut = ring["terminated"][rows, envs], ring["truncated"][rows, envs]
        counts = (~cut | ended) & (rows != newest)  # what was observed behind a time limit is gone with the reset
        with torch.no_grad():
            best = self.target.outputs(after).max(-1).values
            expected = rewards + self.settings.gamma * best.masked_fill(ended[:, None], 0.0)
        values = self.policy.outputs(seen).gather(-1, taken).squeeze(-1)
        loss = (((values - expected) ** 2).mean(1) * counts).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _drawn_rows(self, generator: torch.Generator) -> tuple[Tensor, int]:
        """Rows drawn from those that are written, and the newest, whose successor is not."""
        written = min(int(self.ring.world[self.ring.written]), self.ring.rows)
        newest = (int(self.ring.world[self.ring.row]) - 1) % self.ring.rows
        rows = torch.randint(written, (self.settings.batch_size,), generator=generator)  # of the CPU's generator
        return rows.to(self.ring.world.device), newest

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        return {
            "optimizer": self.optimizer.state_dict(),
            "target": self.target.state_dict(),
            "iterations": self.iterations,
            "ring": {name: self.ring[name].clone() for name in self.ring.arrays},
        }

    def check_state(self, saved: Mapping[str, Any]) -> None:
        missing = {"optimizer", "target", "iterations", "ring"} - saved.keys()
        if missing:
            raise RunError(f"the saved state lacks {', '.join(sorted(missing))}")

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        self.optimizer.load_state_dict(saved["optimizer"])
        self.target.load_state_dict(saved["target"])
        self.iterations = saved["iterations"]
        for name, rows in saved["ring"].items():
            self.ring[name].copy_(rows)
