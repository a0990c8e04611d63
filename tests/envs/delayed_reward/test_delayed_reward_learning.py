"""PPO names every cue, and so does DQN where it sees the rewards on their way, within a few seconds of CPU time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.envs.tiny_learning import DQN, greedy_return
from warpworld.config import load_config

pytestmark = pytest.mark.cpu_backend


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
