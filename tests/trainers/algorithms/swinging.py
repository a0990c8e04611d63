"""Small runs of DDPG, TD3 and SAC on Pendulum with short episodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from warpworld.config import RunConfig, config_from_dict
from warpworld.trainers.trainer import Trainer

DDPG = {"algorithm": "ddpg"}
TD3 = {"algorithm": "ddpg", "td3": True}
SAC = {"algorithm": "sac"}
SMALL = {"replay_size": 400, "learning_starts": 32, "batch_size": 32}
KINDS = pytest.mark.parametrize("entry", [DDPG, TD3, SAC], ids=["ddpg", "td3", "sac"])


def config(entry: Mapping[str, Any], iterations: int = 10, **env: Any) -> RunConfig:
    sizes = {"num_envs": 4, "num_steps": 4, "total_env_steps": 16 * iterations}
    learner = {"model": {"hidden_sizes": [16, 16]}, **SMALL, **entry}
    return config_from_dict(
        {"name": "pendulum", "env": {"episode_length": 9, **env}, "trainer": sizes, "policy": {"agent": learner}}
    )


def trained(entry: Mapping[str, Any], iterations: int = 3, **env: Any) -> tuple[Trainer, Any]:
    """A trainer that has done so many iterations, and its algorithm."""
    trainer = Trainer(config(entry, 100, **env))
    for _ in range(iterations):
        trainer.collector.collect()
        trainer._learn()
    return trainer, trainer.algorithms["agent"]
