"""Configs of small runs with evaluations, by what is special about them."""

from __future__ import annotations

from typing import Any

from tests.trainers.small_networks import small_networks
from warpworld.config import RunConfig, config_from_dict

ONE = {"num_minibatches": 2, "update_epochs": 1}
SAVING = {"eval_every": 3, "eval_episodes": 6, "eval_seed": 3, "checkpoint_every": 2}

RUNS: dict[str, dict[str, Any]] = {
    "one group, PPO": {
        "name": "cartpole",
        "trainer": {"num_envs": 4, "num_steps": 8, "total_env_steps": 4 * 8 * 7},
        "policy": {"agent": {**ONE, "learning_rate": 3e-3}},
        "saving": SAVING,
    },
    "two groups with opponents": {
        "name": "tag_gridworld",
        "env": {"num_taggers": 2, "grid_length": 4, "episode_length": 5},
        "trainer": {"num_envs": 6, "num_steps": 7, "total_env_steps": 6 * 7 * 7},
        "policy": {
            "tagger": ONE,
            "runner": {**ONE, "self_play": {"slots": 2, "snapshot_every": 2, "match_every": 2}},
        },
        "saving": {**SAVING, "eval_opponents": ["greedy", "random"]},
    },
    "one policy for both sides, with a memory": {
        "name": "tests.trainers.recall:Lives",
        "env": {"dying": 0.1, "counted": 0.7},
        "trainer": {"num_envs": 6, "num_steps": 7, "total_env_steps": 6 * 7 * 7},
        "policy": {"both": {**ONE, "groups": ["left", "right"], "model": {"recurrent": "gru", "recurrent_size": 4}}},
        "saving": {**SAVING, "eval_opponents": ["random"]},
    },
    "DQN": {
        "name": "cartpole",
        "trainer": {"num_envs": 4, "num_steps": 8, "total_env_steps": 4 * 8 * 7},
        "policy": {"agent": {"algorithm": "dqn", "replay_size": 256, "learning_starts": 32, "batch_size": 16}},
        "saving": SAVING,
    },
    "SAC": {
        "name": "pendulum",
        "env": {"episode_length": 10},
        "trainer": {"num_envs": 4, "num_steps": 8, "total_env_steps": 4 * 8 * 7},
        "policy": {"agent": {"algorithm": "sac", "replay_size": 256, "learning_starts": 32, "batch_size": 16}},
        "saving": SAVING,
    },
}


def config_of(name: str, saving: dict[str, Any] | None = None, **trainer: Any) -> RunConfig:
    """A run of ``RUNS`` with other settings."""
    data = RUNS[name]
    sections = {"trainer": {**data["trainer"], **trainer}, "saving": {**data["saving"], **(saving or {})}}
    return config_from_dict(small_networks({**data, **sections}))


def without_evaluations(name: str) -> RunConfig:
    """The same run, unevaluated."""
    return config_of(name, {"eval_every": None, "eval_opponents": []})
