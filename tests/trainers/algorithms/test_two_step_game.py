"""A game that independent learners, VDN and QMIX value differently, beside what each can represent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cases import seldom
from tests.trainers.algorithms.two_step import TOGETHER
from warpworld.config import config_from_dict
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer

GAMMA = 0.99

# What each believes the second game to be worth when all act at random, which makes every cell as frequent.
BELIEVED = {
    "dqn": TOGETHER.mean(1).max(),  # of one's own action, the mean over the other's
    "vdn": (TOGETHER.mean(1)[:, None] + TOGETHER.mean(0) - TOGETHER.mean()).max(),  # the closest sum, by least squares
    "qmix": TOGETHER.max(),  # a monotonic function can be the game itself
}


def solution(safe: float) -> tuple[float, int]:
    """Bellman's: the value of the best trajectory, and the game that it chooses."""
    games = [GAMMA * safe, GAMMA * TOGETHER.max()]
    return max(games), int(np.argmax(games))


def learnt(algorithm: str, safe: float) -> float:
    """What agents that learnt from random actions earn greedily."""
    entry: dict[str, Any] = {
        **dict(algorithm=algorithm, learning_rate=[[0, 5e-3], [5_000, 5e-4]], gamma=GAMMA, exploration=1.0, n_step=1),
        **dict(replay_size=8_000, learning_starts=500, batch_size=128, updates=8, target_every=50, priority_alpha=0),
        "model": {"hidden_sizes": [32], "activation": "relu"},
    }
    if algorithm == "qmix":
        entry |= {"mixing_size": 8, "hypernetwork_size": 16}
    config = config_from_dict(
        {
            "name": "tests.trainers.algorithms.two_step:TwoStep",
            "env": {"safe": safe},
            "trainer": {"num_envs": 16, "num_steps": 4, "total_env_steps": 5_000, "torch_threads": 1},
            "policy": {"agent": entry},
        }
    )
    trainer = Trainer(config)
    trainer.train(None, lambda metrics: None)
    return float(play(config, trainer.policies, 8, seed=1, greedy=True).returns["agent"].mean())


@pytest.mark.heavy
@pytest.mark.cpu_backend
@pytest.mark.parametrize(
    ("algorithm", "safe"),
    [
        pytest.param("dqn", 0.6, marks=seldom),
        pytest.param("vdn", 0.6, marks=seldom),
        ("vdn", 0.7),
        ("qmix", 0.7),
    ],
    ids=str,
)
def test_the_trajectory_taken_is_the_best_by_what_can_be_represented(algorithm: str, safe: float) -> None:
    value, game = solution(safe)
    assert (value, game) == (pytest.approx(GAMMA * 0.8), 1)  # the second game is the better one in each case
    finds_it = BELIEVED[algorithm] > safe
    assert finds_it == ((algorithm, safe) in (("vdn", 0.6), ("qmix", 0.7)))
    assert learnt(algorithm, safe) == pytest.approx(0.8 if finds_it else safe)
