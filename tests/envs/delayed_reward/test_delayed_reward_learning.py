"""PPO names every cue, and so does DQN where it sees the rewards on their way, within a few seconds of CPU time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warpworld.config import config_from_dict, load_config
from warpworld.runs import Run
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer

DQN = dict(
    algorithm="dqn",
    model={"hidden_sizes": [32], "activation": "relu"},
    **dict(learning_rate=3e-3, replay_size=20_000, learning_starts=2_000, batch_size=64, updates=4, target_every=50),
)

pytestmark = pytest.mark.cpu_backend


def greedy_return(data: dict[str, Any], folder: Path) -> float:
    """The mean return of greedy episodes after training."""
    trainer = Trainer(config_from_dict(data))
    trainer.train(Run.create(trainer.config, folder))
    return float(play(trainer.config, trainer.policies, 256, greedy=True).returns["agent"].mean())


@pytest.mark.heavy
def test_ppo_learns_it(tmp_path: Path) -> None:
    assert greedy_return(load_config("delayed_reward").to_dict(), tmp_path) == 10.0


@pytest.mark.heavy
def test_dqn_learns_it_from_markov_observations(tmp_path: Path) -> None:
    data = load_config("delayed_reward").to_dict()
    data["env"] = {"delay": 2, "show_pending": True}
    data["trainer"] |= {"num_envs": 32, "num_steps": 4, "total_env_steps": 60_000}
    data["policy"] = {"agent": DQN}
    assert greedy_return(data, tmp_path) == 10.0
