"""Runs with trainer.overlap, and stand-ins for the thread that updates run in."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch

from warpworld.config import RunConfig, config_from_dict
from warpworld.trainers.trainer import Trainer

# Episodes and rollouts are of different lengths, so that a rollout begins in the middle of episodes.
TRAINER = {"device": "cpu", "num_envs": 6, "num_steps": 8, "total_env_steps": 6 * 8 * 6, "overlap": True}


class InTurn:
    """Runs a task in the calling thread: before what is beside it, or after."""

    is_first: bool
    torch_threads = None

    def __init__(self) -> None:
        self._task: Callable[[], None] | None = None

    def open(self) -> None:
        """Begin the thread, which there is not."""

    def start(self, task: Callable[[], None]) -> None:
        """Begin a task."""
        self._task = task
        if self.is_first:
            self.join()

    def join(self) -> None:
        """Wait for the task."""
        task, self._task = self._task, None
        if task is not None:
            task()

    def close(self) -> None:
        """End the thread, which there is not."""


class UpdateFirst(InTurn):
    """The update, then the rollout beside it."""

    is_first = True


class RolloutFirst(InTurn):
    """The rollout, then the update beside it."""

    is_first = False


def overlapped(data: dict[str, Any], **trainer: Any) -> RunConfig:
    """The config of a run of six iterations with overlap."""
    own = {**copy.deepcopy(data), "trainer": {**TRAINER, **data.get("trainer", {}), **trainer}}
    return config_from_dict({"saving": {"checkpoint_every": 100}, **own})


def result(trainer: Trainer, metrics: list[dict[str, Any]]) -> tuple[Any, ...]:
    """All that a run leaves, in a form that equality compares bit for bit: weights, the store and metrics."""
    weights = [
        tensor.cpu().numpy().tobytes() for policy in trainer.policies.values() if policy for tensor in _tensors(policy)
    ]
    lines = [{key: each for key, each in line.items() if not key.startswith("perf/")} for line in metrics]
    return weights, trainer.world.snapshot().cpu().numpy().tobytes(), repr([{**line, "time": 0} for line in lines])


def _tensors(policy: torch.nn.Module) -> list[torch.Tensor]:
    return [value for value in policy.state_dict().values() if isinstance(value, torch.Tensor)]


def trained(config: RunConfig) -> tuple[Any, ...]:
    """The ``result`` of a whole run."""
    trainer, metrics = Trainer(config), list[dict[str, Any]]()
    trainer.train(None, metrics.append)
    return result(trainer, metrics)
