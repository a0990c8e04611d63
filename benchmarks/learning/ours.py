"""Iterations of a training run by warpworld."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from warpworld.cli.profile.parts import operations_of
from warpworld.config import RunConfig
from warpworld.config.endless_config import load_endless
from warpworld.trainers.cpu_tuning import tune_for_cpu
from warpworld.trainers.spans import POLICY, VALUES
from warpworld.trainers.timing import Times, timed_iterations
from warpworld.trainers.trainer import Trainer

from .settings import LEAST, WARM_UP, Setting


@dataclass(frozen=True)
class Task:
    """A config to train.

    Attributes:
        config: a packaged one.
        policy: whose epochs and minibatches a setting has.
        overrides: of the config, besides those of a setting, as a command line has them.
    """

    config: str
    policy: str
    overrides: tuple[str, ...] = ()

    def loaded(self, setting: Setting, fused: bool = True) -> RunConfig:
        """The config with the sizes of a setting, without an end, on as many threads as torch has."""
        threads = torch.get_num_threads()
        sizes = {
            "trainer.num_envs": setting.num_envs,
            "trainer.num_steps": setting.num_steps,
            "trainer.device": "cpu",
            "trainer.num_workers": threads,
            "trainer.torch_threads": threads,
            "trainer.fused": str(fused).lower(),
            f"policy.{self.policy}.update_epochs": setting.update_epochs,
            f"policy.{self.policy}.num_minibatches": setting.num_minibatches,
        }
        return load_endless(self.config, [*(f"{key}={value}" for key, value in sizes.items()), *self.overrides])


def of_warpworld(task: Task, fused: bool = True) -> Callable[[Setting, float], Times]:
    """Measures a training run, by C++ where it can or by torch alone."""

    def measured(setting: Setting, seconds: float) -> Times:
        trainer = Trainer(task.loaded(setting, fused))
        tune_for_cpu(trainer.world.device)
        return timed_iterations(trainer, seconds, LEAST, WARM_UP)

    return measured


@dataclass(frozen=True)
class Operations:
    """Multiplications and additions of the products and convolutions of an update.

    Attributes:
        gradients: forward and backward, of all minibatches.
        values: of the rollout's rows, where they are computed after the rollout.
    """

    gradients: float
    values: float


def counted(task: Task, setting: Setting) -> Operations:
    """What an update computes, whoever does it."""
    found = {part: operations for part, (operations, _) in operations_of(task.loaded(setting)).items()}
    values = sum(count for part, count in found.items() if part.name == VALUES)
    return Operations(sum(count for part, count in found.items() if part.name not in (POLICY, VALUES)), values)
