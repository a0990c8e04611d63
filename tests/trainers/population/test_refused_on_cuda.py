"""Populations are refused where updates are CUDA graphs."""

from __future__ import annotations

import pytest

from warpworld.config import config_from_dict
from warpworld.errors import ConfigError
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cuda_backend


def test_members_are_refused_before_anything_is_written() -> None:
    section = {"members": 2, "interval": 1, "settings": {"learning_rate": [1e-3, 1e-2]}}
    trainer = {"device": "cuda", "num_envs": 4, "num_steps": 8, "total_env_steps": 320}
    agent = {"num_minibatches": 2, "population": section}
    config = config_from_dict({"name": "cartpole", "trainer": trainer, "policy": {"agent": agent}})
    message = (
        r"^policy\.agent\.population is set, but on cuda an update is a CUDA graph over all envs; set trainer\.device"
    )
    with pytest.raises(ConfigError, match=message):
        Trainer(config)
