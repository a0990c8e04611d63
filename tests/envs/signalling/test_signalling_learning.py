"""A sender and a receiver that learn by PPO agree on a signal for each state, within a few seconds of CPU time."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpworld.config import load_config
from warpworld.runs import Run
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend


@pytest.mark.heavy
def test_ppo_learns_it(tmp_path: Path) -> None:
    trainer = Trainer(load_config("signalling"))
    trainer.train(Run.create(trainer.config, tmp_path))
    returns = play(trainer.config, trainer.policies, 256, greedy=True).returns
    assert {name: float(of_policy.mean()) for name, of_policy in returns.items()} == {"sender": 1.0, "receiver": 1.0}
