"""Agents of PettingZoo that are cut: their returns count what would have followed, those of agents that die do not."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from warpworld.config import config_from_dict
from warpworld.trainers.algorithms.targets.gae import gae
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cpu_backend
pytest.importorskip("pettingzoo")

GAMMA, WORTH = 0.5, 2.0  # a reward of 1 in every step is worth 2


def trainer(**options: Any) -> Trainer:
    config = {
        "name": "external",
        "env": {"library": "pettingzoo", "id": "tests.adapters.external.leaving", "options": options},
        "trainer": {"device": "cpu", "num_envs": 2, "num_steps": 8, "total_env_steps": 160},
        "policy": {"walker": {"algorithm": "ppo"}},
    }
    return Trainer(config_from_dict(config))


def returns_of(made: Trainer) -> tuple[torch.Tensor, Any]:
    """Returns of a rollout where all that agents see is worth 2: (T, num_envs, n), and what was recorded."""
    made.collector.collect()
    seen = made.collector.shared(Rollout).trajectories("walker")
    worth = torch.full_like(seen.rewards, WORTH)
    _, returns = gae(
        *(seen.counted_rewards, worth, seen.terminated, seen.truncated, seen.agent_terminated, worth[0], worth),
        agent_truncated=seen.agent_truncated,
        gamma=GAMMA,
        gae_lambda=1.0,
    )
    return returns, seen


@pytest.mark.long
def test_one_agent_is_cut_alone_and_then_all_are() -> None:
    """walker_0 is cut in step 2, the others in step 4, with their env: the values of all are 2 all along."""
    returns, seen = returns_of(trainer(cut={"walker_0": 2}, limit=4))
    assert seen.agent_truncated[1, :, 0].all() and not seen.agent_terminated.any()
    assert seen.truncated[3].all() and not seen.terminated.any()
    assert returns[seen.mask].eq(WORTH).all()


@pytest.mark.long
def test_one_agent_dies_and_another_is_cut_in_the_same_step() -> None:
    returns, seen = returns_of(trainer(died={"walker_0": 2, "walker_2": 4}, cut={"walker_1": 2}, limit=4))
    assert returns[:2, 0].tolist() == [[1.5, 2.0, 1.875], [1.0, 2.0, 1.75]]
    assert returns[2:4, 0, 2].tolist() == [1.5, 1.0]  # which ends the env, by itself
    assert bool(seen.terminated[3, 0]) and not bool(seen.truncated[3, 0])


@pytest.mark.long
def test_the_last_agents_leave_together_one_dead_and_one_cut() -> None:
    returns, seen = returns_of(trainer(died={"walker_0": 3}, limit=3))
    assert returns[2, 0].tolist() == [1.0, 2.0, 2.0]
    assert bool(seen.truncated[2, 0])
