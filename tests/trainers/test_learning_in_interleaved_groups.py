"""Learning in groups whose agents do not lie side by side: cats have the even numbers, mice the odd ones."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import seldom
from tests.world.herd import NAMES
from warpworld.config import config_from_dict
from warpworld.trainers.trainer import Trainer

ON_POLICY = {"learning_rate": 0.02, "gamma": 0.0, "model": {"hidden_sizes": [16]}}
OFF_POLICY = {
    "learning_rate": 0.01,
    "gamma": 0.0,
    "model": {"hidden_sizes": [16]},
    "replay_size": 20_000,
    "learning_starts": 500,
    "batch_size": 64,
    "updates": 4,
    "exploration": [[0, 1.0], [4000, 0.05]],
}


# The stand-in trains by two of them.
OTHERS = [
    *(pytest.param(name, marks=pytest.mark.cpu_backend) for name in ("r2d2", "qmix")),
    *(pytest.param(name, marks=[pytest.mark.cpu_backend, seldom]) for name in ("a2c", "mappo", "vdn")),
]


@pytest.mark.heavy
@pytest.mark.parametrize("algorithm", ["ppo", "dqn", *OTHERS])
def test_each_agent_learns_its_own_choice(algorithm: str, optimised: None) -> None:
    settings = ON_POLICY if algorithm in ("ppo", "a2c", "mappo") else OFF_POLICY
    if algorithm == "r2d2":
        windows = {"burn_in": 2, "train_length": 6, "learning_starts": 200}
        settings = {**settings, **windows, "model": {"hidden_sizes": [16], "recurrent": "gru"}}
    trainer = Trainer(config_from_dict(_run({"algorithm": algorithm, **settings})))
    trainer.train(None)
    rewards = trainer.world["rollout_rewards"]
    earned = [float(rewards[..., trainer.world.groups[name].slice].mean()) for name in NAMES]
    assert min(earned) > 0.8, earned
    assert rewards.min() >= 0.0  # masks are those of the agents that they are applied to


def _run(entry: dict[str, Any]) -> dict[str, Any]:
    sizes = {"num_envs": 16, "num_steps": 8, "total_env_steps": 16 * 8 * 60, "seed": 3}
    return {"name": "tests.world.herd:Herd", "trainer": sizes, "policy": dict.fromkeys(NAMES, entry)}


@pytest.mark.heavy
def test_one_policy_plays_both_groups() -> None:
    entry = {**ON_POLICY, "groups": list(NAMES)}
    trainer = Trainer(config_from_dict({**_run(entry), "policy": {"both": entry}}))
    trainer.train(None)
    assert trainer.world["rollout_rewards"].min() >= 0.0


@pytest.mark.heavy
@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_opponents_play_the_agents_that_they_are_to(algorithm: str) -> None:
    """Past selves and random opponents obey masks, which are other ones for each agent."""
    met = {"share": 0.5, "slots": 2, "pool_size": 2, "snapshot_every": 2, "match_every": 2, "opponents": ["random"]}
    settings = ON_POLICY if algorithm == "ppo" else OFF_POLICY
    entry = {"algorithm": algorithm, **settings}
    config = _run(entry)
    config["policy"] = {"cat": {**entry, "self_play": met}, "mouse": entry}
    config["trainer"]["total_env_steps"] = 16 * 8 * 12
    trainer = Trainer(config_from_dict(config))
    trainer.train(None)
    assert trainer.league is not None and len(trainer.league.slots) == 2
    assert trainer.world["rollout_rewards"].min() >= 0.0
