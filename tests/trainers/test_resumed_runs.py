"""A resumed training goes the uninterrupted one's way bit for bit, whatever is trained by whatever algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from warpworld.config import config_from_dict
from warpworld.runs import Run
from warpworld.trainers.trainer import Trainer

# Episodes and rollouts are of different lengths, so that a checkpoint falls into the middle of episodes.
TRAINER = {"device": "cpu", "num_envs": 6, "num_steps": 8, "total_env_steps": 6 * 8 * 6}
ONE = {"num_minibatches": 2, "update_epochs": 2}
SEGMENTS = {"num_minibatches": 2, "priority_alpha": 0.7, "replay_ratio": 1.0}
OFF_POLICY = {"replay_size": 120, "learning_starts": 30, "batch_size": 16, "updates": 2, "model": {"hidden_sizes": [8]}}
DQN = {"algorithm": "dqn", "target_every": 3, **OFF_POLICY}
WINDOWS = {"burn_in": 2, "train_length": 5, "n_step": 2}
MEMORY = {"recurrent": "lstm", "recurrent_size": 5}
TRANSFORMER = {"recurrent": "transformer", "recurrent_size": 4, "recurrent_heads": 2, "recurrent_window": 3}
REMEMBERING_CRITIC = {**ONE, "algorithm": "mappo", "recurrent_critic": True, "model": MEMORY}

RUN_CONFIGS: dict[str, dict[str, Any]] = {
    "cartpole": {"name": "cartpole", "policy": {"agent": ONE}},
    "normalised observations": {
        "name": "cartpole",
        "policy": {"agent": {**ONE, "model": {"normalise_observations": True}}},
    },
    "a2c with schedules": {
        "name": "cartpole",
        "policy": {"agent": {"algorithm": "a2c", "learning_rate": [[0, 0.001], [200, 0.0001]], "ent_coef": 0.01}},
    },
    "rate by kl": {
        "name": "cartpole",
        "policy": {"agent": {**ONE, "desired_kl": 1e-4, "anneal_lr": False, "kl_coef": 0.1, "kl_coef_target": 1e-3}},
    },
    "hybrid actions and opponents": {
        "name": "tests.hybrid:HybridPair",
        "policy": {
            "goer": {**ONE, "self_play": {"slots": 2, "opponents": ["still", "random"], "match_every": 2}},
            "arm": {**ONE, "model": {"recurrent": "gru", "recurrent_size": 5}},
        },
    },
    "target_kl": {"name": "cartpole", "policy": {"agent": {**ONE, "target_kl": 1e-4}}},
    "averaged weights and a magnet": {
        "name": "cartpole",
        "policy": {
            "agent": {
                **{**ONE, "ema_decay": 0.7, "magnet_coef": 0.3, "norm_adv": False},
                "model": {"normalise_observations": True},
            }
        },
    },
    "segments": {
        "name": "cartpole",
        "policy": {"agent": {**SEGMENTS, "priority_beta": [[0, 0.2], [288, 1.0]]}},
    },
    "segments of two groups with a memory": {
        "name": "tests.trainers.recall:Lives",
        "env": {"dying": 0.1, "counted": 0.7},
        "policy": {"both": {**SEGMENTS, "groups": ["left", "right"], "model": MEMORY}},
    },
    "python phases": {
        "name": "tests.trainers.small_worlds:Clockwork",
        "env": {"episode_length": 5, "ends": [0, 3, 4]},
        "policy": {"left": ONE, "right": {"train": False}},
    },
    "agents that leave": {
        "name": "tests.trainers.small_worlds:Relay",
        "policy": {"left": ONE, "right": {"algorithm": "random"}},
    },
    "lstm": {
        "name": "tests.trainers.recall:Lives",
        "env": {"dying": 0.1, "counted": 0.7},
        "policy": {"both": {**ONE, "groups": ["left", "right"], "model": {"recurrent": "lstm", "recurrent_size": 8}}},
    },
    "lstm of two layers": {
        "name": "tests.trainers.recall:Lives",
        "env": {"dying": 0.1, "counted": 0.7},
        "policy": {"both": {**ONE, "groups": ["left", "right"], "model": {**MEMORY, "recurrent_layers": 2}}},
    },
    "transformer": {
        "name": "tests.trainers.recall:Lives",
        "env": {"dying": 0.1, "counted": 0.7},
        "policy": {"both": {**ONE, "groups": ["left", "right"], "model": TRANSFORMER}},
    },
    "state of a model of one's own": {
        "name": "tests.trainers.recall:Lives",
        "env": {"dying": 0.1, "counted": 0.7},
        "policy": {
            "left": {**ONE, "model": {"type": "tests.policies.stateful_models:Recent", "width": 5}},
            "right": {
                **{**DQN, **WINDOWS, "algorithm": "r2d2", "replay_size": 180},
                "model": {"type": "tests.policies.stateful_models:Valueless", "width": 4},
            },
        },
    },
    "gru, frozen gru and v-trace": {
        "name": "tests.trainers.recall:Lives",
        "policy": {
            "left": {
                **{**ONE, "value_targets": "vtrace"},
                "model": {"recurrent": "gru", "recurrent_size": 6, "normalise_observations": True},
            },
            "right": {"train": False, "model": {"recurrent": "gru", "recurrent_size": 5}},
        },
    },
    "named observations": {
        "name": "tests.trainers.sighted:Sighted",
        "policy": {
            "left": {**ONE, "model": {"type": "multi_input", "kernel_sizes": [3, 3], "recurrent": "lstm"}},
            "right": {"algorithm": "a2c", "model": {"type": "multi_input", "kernel_sizes": [4, 2], "strides": [2, 1]}},
        },
    },
    "bytes, choices and floats": {
        "name": "tests.trainers.collecting.seen_in_kinds:SeenAs",
        "env": {"kind": "mixed"},
        "policy": {"walker": {**ONE, "model": {"normalise_observations": True, "recurrent": "gru"}}},
    },
    "arrays of each group's own": {
        "name": "tests.world.flock:Flock",
        "env": {"wolves": 2, "sheep": 3},
        "policy": {"wolf": ONE, "sheep": {"algorithm": "a2c"}},
    },
    "groups whose agents take turns": {
        "name": "tests.world.herd:Herd",
        "policy": {"cat": ONE, "mouse": {**DQN, "replay_size": 360}},
    },
    "metrics": {"name": "tests.trainers.measured:Measured", "policy": {"left": ONE, "right": ONE}},
    "parameters that are drawn": {
        "name": "tests.world.drift:Drift",
        "env": {"randomize": {"gravity": [8.0, 12.0], "windy": [False, True]}},
        "policy": {"agent": ONE},
    },
    "a curriculum": {
        "name": "cartpole",
        "env": {"episode_length": 9},
        "curriculum": {"parameters": {"pole_length": [2.0, 0.1]}, "levels": 3, "success": 8.0},
        "policy": {"agent": ONE},
    },
    "mappo with popart and a memory": {
        "name": "tests.trainers.replay.stated:Stated",
        "env": {"dying": 0.1, "resting": 0.2, "truncating": 0.1, "forbidding": 0.3},
        "policy": {
            "left": {**ONE, "algorithm": "mappo"},
            "middle": REMEMBERING_CRITIC,
            "right": {**ONE, "algorithm": "mappo", "model": {"recurrent": "gru", "recurrent_size": 5}},
        },
    },
    "vdn beside qmix": {
        "name": "tests.trainers.replay.stated:Stated",
        "env": {"dying": 0.1, "resting": 0.2, "truncating": 0.1, "forbidding": 0.3},
        "policy": {
            "left": {**DQN, "algorithm": "qmix", "priority_alpha": 0.6, "n_step": 2},
            "middle": {"algorithm": "random"},
            "right": {**DQN, "algorithm": "vdn"},
        },
    },
    "vdn beside qmix, with memories": {
        "name": "tests.trainers.replay.stated:Stated",
        "env": {"dying": 0.1, "cutting": 0.1, "resting": 0.2, "truncating": 0.1, "forbidding": 0.3},
        "policy": {
            "left": {**DQN, **WINDOWS, "algorithm": "qmix", "priority_alpha": 0.6, "model": MEMORY},
            "middle": {"algorithm": "random"},
            "right": {**DQN, **WINDOWS, "algorithm": "vdn", "model": {**MEMORY, "recurrent": "gru"}},
        },
    },
    "ppo beside dqn": {"name": "tag_gridworld", "policy": {"tagger": ONE, "runner": DQN}},
    "r2d2": {
        "name": "tests.trainers.recall:Lives",
        "env": {"dying": 0.1, "counted": 0.7},
        "policy": {
            "both": {
                **{
                    **OFF_POLICY,
                    "algorithm": "r2d2",
                    "groups": ["left", "right"],
                    "replay_size": 540,
                    "target_every": 3,
                },
                **{"burn_in": 2, "train_length": 5, "n_step": 2},
                "model": {"recurrent": "lstm", "recurrent_size": 4, "hidden_sizes": [8]},
            }
        },
    },
    "r2d2 of halves": {
        "name": "tests.trainers.collecting.test_half_observations:SeenIn",
        "env": {"dtype": "float16"},
        "policy": {
            "walker": {
                **{**OFF_POLICY, **WINDOWS, "algorithm": "r2d2", "replay_size": 300},
                "model": {"recurrent": "gru", "recurrent_size": 4, "hidden_sizes": [8]},
            }
        },
    },
    "bf16": {
        "name": "tag_gridworld",
        "trainer": {"precision": "bf16"},
        "policy": {"tagger": {**ONE, "model": MEMORY}, "runner": DQN},
    },
    "dqn on final observations": {
        "name": "cartpole",
        "env": {"episode_length": 7},
        "policy": {"agent": {**DQN, "n_step": 2, "final_observations": True, "first_priority": "actor"}},
    },
    "dqn of two groups, some of whom take no part": {
        "name": "tests.trainers.recall:Lives",
        "env": {"dying": 0.1, "counted": 0.7},
        "policy": {"both": {**DQN, "replay_size": 300, "groups": ["left", "right"]}},
    },
    "sac": {"name": "pendulum", "policy": {"agent": {"algorithm": "sac", **OFF_POLICY}}},
    "td3": {"name": "pendulum", "policy": {"agent": {"algorithm": "ddpg", "td3": True, **OFF_POLICY}}},
    "tag on a plane": {
        "name": "tag_continuous",
        "env": {"num_taggers": 2, "num_runners": 3, "episode_length": 11},
        "policy": {"tagger": ONE, "runner": ONE},
    },
}


def trained(data: dict[str, Any], directory: Path, interrupted: bool) -> tuple[Trainer, Run]:
    """A run of six iterations; if interrupted, by two trainers, the second with a random state of its own."""
    config = config_from_dict(
        {**data, "trainer": {**TRAINER, **data.get("trainer", {})}, "saving": {"checkpoint_every": 100}}
    )
    run, trainer = Run.create(config, directory), Trainer(config)
    if interrupted:
        trainer.train(run, stop=lambda: trainer.iteration == 3)
        run.close()
        torch.manual_seed(12345)
        run, resumed = Run.open(run.path), Trainer(config)
        resumed.resume(run)
        trainer = resumed
    trainer.train(run)
    run.close()
    return trainer, run


@pytest.mark.heavy
@pytest.mark.usefixtures("bf16_everywhere")
@pytest.mark.parametrize("config_name", RUN_CONFIGS)
def test_resumed_halfway(tmp_path: Path, config_name: str) -> None:
    (whole, whole_run), (halves, halves_run) = (
        trained(RUN_CONFIGS[config_name], tmp_path, cut) for cut in (False, True)
    )
    assert halves_run.checkpoints() == [0, 3, 6]
    assert whole_run.metrics_path.read_bytes() == halves_run.metrics_path.read_bytes()
    assert torch.equal(whole.world.snapshot(), halves.world.snapshot())
    assert torch.equal(whole.generator.get_state(), halves.generator.get_state())
    pairs = [(whole.policies, halves.policies), (whole.shown, halves.shown)]
    for name, policy, others in ((name, policy, others) for own, others in pairs for name, policy in own.items()):
        other = others[name]
        if policy is not None:
            assert other is not None
            theirs = other.state_dict()
            assert all(torch.equal(value, theirs[key]) for key, value in policy.state_dict().items())
