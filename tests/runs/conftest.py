"""What tests of runs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from warpworld.config import RunConfig, load_config
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer

CARTPOLE = ("trainer.device=cpu", "trainer.num_envs=4", "trainer.num_steps=8", "trainer.total_env_steps=192")


@pytest.fixture
def config() -> RunConfig:
    """Six small iterations of CartPole, each saved."""
    words = ("policy.agent.num_minibatches=1", "policy.agent.update_epochs=1", "saving.checkpoint_every=1")
    return load_config("cartpole", [*CARTPOLE, *words])


@pytest.fixture
def run(config: RunConfig, tmp_path: Path) -> Run:
    """That run after three iterations; nobody holds its lock."""
    run, trainer = Run.create(config, tmp_path), Trainer(config)
    trainer.train(run, stop=lambda: trainer.iteration == 3)
    run.close()
    return run


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Torch's threads are a matter of the whole process; put them back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
