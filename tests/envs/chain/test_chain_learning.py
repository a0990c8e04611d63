"""PPO and DQN walk to the far end of the chain in every greedy episode, within a few seconds of CPU time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.envs.tiny_learning import DQN, greedy_return
from warpworld.config import load_config

pytestmark = pytest.mark.cpu_backend


@pytest.mark.heavy
def test_ppo_learns_it(tmp_path: Path) -> None:
    assert greedy_return(load_config("chain").to_dict(), tmp_path) == 1.0


@pytest.mark.heavy
def test_dqn_learns_it(tmp_path: Path) -> None:
    data = load_config("chain").to_dict()
    data["trainer"] |= {"num_envs": 32, "num_steps": 4, "total_env_steps": 40_000}
    data["policy"] = {"agent": DQN}
    assert greedy_return(data, tmp_path) == 1.0
