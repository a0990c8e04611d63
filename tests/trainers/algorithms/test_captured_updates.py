"""Updates of off-policy algorithms as CUDA graphs: what is learnt is what would have been, bit for bit."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import torch

from tests.cases import often
from warpworld.config import config_from_dict
from warpworld.trainers.algorithms.off_policy import OffPolicy
from warpworld.trainers.trainer import Trainer

pytestmark = pytest.mark.cuda_backend

DQN = {
    **dict(algorithm="dqn", replay_size=512, learning_starts=64, batch_size=32, updates=2, target_every=3),
    "model": {"hidden_sizes": [16]},
}
SAC = {
    **dict(algorithm="sac", replay_size=512, learning_starts=64, batch_size=32, updates=2),
    "model": {"hidden_sizes": [16]},
}
WAYS = {
    "target_every": DQN,
    "tau": {**DQN, "target_every": None, "tau": 0.1, "first_priority": "actor", "value_rescale": True},
    "r2d2": {
        **{**DQN, "algorithm": "r2d2", "burn_in": 2, "train_length": 6, "n_step": 2},
        "model": {"hidden_sizes": [8], "recurrent": "gru", "recurrent_size": 4},
    },
    "r2d2 with grus": {
        **{**DQN, "algorithm": "r2d2", "burn_in": 2, "train_length": 6, "n_step": 2},
        "model": {"hidden_sizes": [8], "recurrent": "gru", "recurrent_size": 4, "recurrent_layers": 2},
    },
    "r2d2 with mingrus": {
        **{**DQN, "algorithm": "r2d2", "burn_in": 2, "train_length": 6, "n_step": 2},
        "model": {"hidden_sizes": [8], "recurrent": "mingru", "recurrent_size": 4, "recurrent_layers": 2},
    },
    "r2d2 with a transformer": {
        **{**DQN, "algorithm": "r2d2", "burn_in": 2, "train_length": 6, "n_step": 2},
        "model": {"hidden_sizes": [8], "recurrent": "transformer", "recurrent_size": 4, "recurrent_window": 3},
    },
    "rmsprop": {**DQN, "optimizer": "rmsprop", "optimizer_eps": 1e-5, "priority_beta": [[0, 0.4], [500, 1.0]]},
    "qmix": {**DQN, "algorithm": "qmix", "priority_alpha": 0.6},
    "qmix with a memory": {
        **{**DQN, "algorithm": "qmix", "burn_in": 2, "train_length": 6, "n_step": 2},
        "model": {"hidden_sizes": [8], "recurrent": "gru", "recurrent_size": 4},
    },
    "sac with muon": {**SAC, "priority_alpha": 0.6, "optimizer": "muon"},
    "td3": {**SAC, "algorithm": "ddpg", "td3": True},  # every other update moves the actor: two graphs
}


def trained(policy: dict[str, Any], graph_steps: int) -> tuple[Trainer, list[dict[str, Any]]]:
    """A trainer after its run, and its metrics."""
    config = config_from_dict(
        {
            "name": "cartpole" if policy["algorithm"] in ("dqn", "r2d2", "qmix") else "pendulum",
            "env": {"episode_length": 20},
            "trainer": {"num_envs": 8, "num_steps": 4, "total_env_steps": 640, "graph_steps": graph_steps, "seed": 3},
            "policy": {"agent": policy},
        }
    )
    trainer, metrics = Trainer(config), list[dict[str, Any]]()
    trainer.train(None, metrics.append)
    return trainer, metrics


# What these show, others of them show with more beside it.
PARTS = ("target_every", "r2d2", "qmix")


@pytest.mark.parametrize("way", often(WAYS.keys() - set(PARTS), WAYS))
def test_captured_updates_equal_eager_ones(way: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        (eager, metrics), (captured, of_captured) = trained(WAYS[way], 0), trained(WAYS[way], 4)
    assert "one by one" not in caplog.text
    for name, weight in eager.policies["agent"].state_dict().items():  # type: ignore[union-attr]
        assert torch.equal(weight, captured.policies["agent"].state_dict()[name]), name  # type: ignore[union-attr]
    timed = ("perf/", "time")
    for one, other in zip(metrics, of_captured, strict=True):
        untimed = [{key: each[key] for key in each if not key.startswith(timed)} for each in (one, other)]
        assert repr(untimed[0]) == repr(untimed[1])  # NaN where no episode ended
    losses = [value for name, value in metrics[-1].items() if name.startswith("losses/agent/")]
    assert len(losses) >= 3 and all(losses)


def test_python_does_no_update_once_it_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    update = OffPolicy._update

    def count(self: OffPolicy) -> None:
        done.append(1)
        update(self)

    monkeypatch.setattr(OffPolicy, "_update", count)
    trainer, _ = trained(DQN, 4)
    assert trainer.algorithms["agent"].num_updates > 20  # type: ignore[attr-defined]
    assert len(done) == 2  # to warm up, and to be captured
