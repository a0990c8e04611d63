"""Runs with opponents of every kind, small enough to be trained in a moment."""

from __future__ import annotations

from typing import Any

from tests.trainers.small_networks import small_networks
from warpworld.config import RunConfig, config_from_dict

# Episodes, rollouts and matches are of different lengths, so that a checkpoint falls into the middle of all of them.
TRAINER = {"num_envs": 12, "num_steps": 7, "total_env_steps": 12 * 7 * 9}
ONE = {"num_minibatches": 2, "update_epochs": 2}
POOL = {"share": 0.5, "slots": 3, "pool_size": 3, "snapshot_every": 2, "match_every": 2}

RUN_CONFIGS: dict[str, dict[str, Any]] = {
    "one policy for both sides": {
        "name": "tests.trainers.league.duels:Throws",
        "policy": {
            "fighter": {
                **ONE,
                "groups": ["player", "rival"],
                "self_play": {**POOL, "groups": ["rival"], "opponents": ["rock", "random"]},
            }
        },
    },
    "both tags, each against the other's past": {
        "name": "tag_gridworld",
        "env": {"num_taggers": 2, "grid_length": 4, "episode_length": 5},
        "policy": {
            "tagger": {**ONE, "self_play": {**POOL, "share": 0.25, "match_making": "uniform"}},
            "runner": {**ONE, "self_play": {**POOL, "share": 0.5, "opponents": ["greedy"]}},
        },
    },
    "a plane with masks": {
        "name": "tag_continuous",
        "env": {"num_taggers": 2, "num_runners": 3, "episode_length": 5},
        "policy": {"tagger": {**ONE, "self_play": {**POOL, "share": 0.3}}, "runner": ONE},
    },
    "lstm": {
        "name": "tests.trainers.recall:Lives",
        "env": {"dying": 0.1, "counted": 0.7},
        "policy": {
            "both": {
                **ONE,
                "groups": ["left", "right"],
                "value_targets": "vtrace",
                "model": {"recurrent": "lstm", "recurrent_size": 8, "normalise_observations": True},
                "self_play": {**POOL, "groups": ["right"]},
            }
        },
    },
}


def config_of(data: dict[str, Any], **trainer: Any) -> RunConfig:
    sizes = {"trainer": {**TRAINER, **trainer}, "saving": {"checkpoint_every": 100}}
    return config_from_dict(small_networks({**data, **sizes}))
