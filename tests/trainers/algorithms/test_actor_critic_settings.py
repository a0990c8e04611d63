"""What DDPG and SAC refuse before a run begins, each in a sentence that says where and why."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import ConfigError
from warpworld.trainers.algorithms import ALGORITHMS, get_algorithm
from warpworld.trainers.algorithms.off_policy import OffPolicy
from warpworld.trainers.algorithms.q_learning import QLearning
from warpworld.trainers.trainer import Trainer

SMALL = {"replay_size": 400, "learning_starts": 32, "batch_size": 32}
TRAINER = {"num_envs": 4, "num_steps": 4, "total_env_steps": 160}


def config(name: str = "pendulum", group: str = "agent", env: dict[str, Any] | None = None, **entry: Any) -> RunConfig:
    learner = {"algorithm": "sac", **SMALL, **entry}
    return config_from_dict({"name": name, "env": env or {}, "trainer": TRAINER, "policy": {group: learner}})


Q = ", ".join(name for name in ALGORITHMS if issubclass(get_algorithm(name), QLearning))
OFF_POLICY = ", ".join(name for name in ALGORITHMS if issubclass(get_algorithm(name), OffPolicy))
AIM = {"name": "tests.trainers.small_worlds:Aim", "group": "archer"}
CART = {"name": "cartpole", "group": "agent"}


@pytest.mark.parametrize("algorithm", ["ddpg", "sac"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            CART,
            "policy.agent.algorithm is {}, but group 'agent' acts in Discrete(2), expected a Box; dqn acts by choices",
        ),
        (
            AIM,
            "policy.archer.algorithm is {}, but group 'archer' acts in Box([-1.  0.], [ 3. inf], (2,), float32), "
            "expected a Box with finite bounds; ppo needs none",
        ),
        (
            {**AIM, "env": {"low": [-1, 2], "high": [3, 2]}},
            "policy.archer.algorithm is {}, but group 'archer' acts in Box([-1.  2.], [3. 2.], (2,), float32), "
            "expected low below high in every dimension",
        ),
        (
            {"name": "tests.trainers.algorithms.judged:Judged", "group": "driver"},
            "policy.driver.algorithm is {}, but group 'driver' names 'everything' for its critic to read, expected "
            "none: critics of actions read what the agent observes",
        ),
        (
            {"model": {"recurrent": "gru"}},
            "policy.agent.model.recurrent is gru, but {} learns from transitions, expected null; algorithm: ppo learns "
            "with a memory",
        ),
        (
            {"first_priority": "actor"},
            "policy.agent.first_priority is actor, expected max: under {} no values are known while acting",
        ),
        ({"batch_size": 0}, "policy.agent.batch_size is 0, expected at least 1"),
        ({"tau": 0}, "policy.agent.tau is 0, expected more than 0"),
        ({"tau": None}, "policy.agent.tau is empty, expected a number"),
        (
            {"actor_learning_rate": 0},
            "policy.agent.actor_learning_rate is 0, expected a finite number above 0, or points such as "
            "[[0, 1e-3], [10000, 1e-4]]",
        ),
        (
            {"learning_starts": 16},
            "policy.agent.learning_starts is 16, expected at least batch_size, 32",
        ),
        ({"learning_starts": 401}, "policy.agent.learning_starts is 401, expected at most replay_size, 400"),
        ({"n_step": 200}, "policy.agent.replay_size is 400, expected at least 820: 205 rows of num_envs 4 x 1 agent"),
        (
            {"num_minibatches": 4},
            "policy.agent.num_minibatches is not a known key of {}: it is one of ppo, a2c, mappo, gumbel_zero, "
            "which learn on-policy",
        ),
        (
            {"gae_lambda": 0.9},
            "policy.agent.gae_lambda is not a known key of {}: it is one of ppo, a2c, mappo, which learn on-policy",
        ),
    ],
)
def test_what_is_refused(algorithm: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        config(**{"algorithm": algorithm, **given})
    assert str(error.value) == f"config: {message.format(algorithm)}"


@pytest.mark.parametrize(
    ("algorithm", "given", "message"),
    [
        ("sac", {"temperature": -1}, "policy.agent.temperature is -1, expected auto, or a finite number of at least 0"),
        (
            "sac",
            {"temperature": "hot"},
            "policy.agent.temperature is 'hot', expected auto, or a finite number of at least 0",
        ),
        (
            "sac",
            {"temperature": True},
            "policy.agent.temperature is true, expected auto, or a finite number of at least 0",
        ),
        ("sac", {"td3": True}, "policy.agent.td3 is not a known key of sac: it is one of ddpg"),
        ("sac", {"target_every": 5}, f"policy.agent.target_every is not a known key of sac: it is one of {Q}"),
        ("ddpg", {"temperature": 1}, "policy.agent.temperature is not a known key of ddpg: it is one of sac"),
        ("ddpg", {"exploration": "pink"}, "policy.agent.exploration is 'pink', expected 'ou' or 'normal'"),
        ("ddpg", {"noise_damping": 1.5}, "policy.agent.noise_damping is 1.5, expected at most 1"),
        ("ddpg", {"noise_stddev": -1}, "policy.agent.noise_stddev is -1, expected at least 0"),
        ("ddpg", {"policy_delay": 0}, "policy.agent.policy_delay is 0, expected at least 1"),
        ("ddpg", {"target_noise_clip": -1}, "policy.agent.target_noise_clip is -1, expected at least 0"),
        (
            "ppo",
            {},
            f"policy.agent.replay_size is not a known key of ppo: it is one of {OFF_POLICY}, which learn off-policy",
        ),
        (
            "dqn",
            {},
            "policy.agent.algorithm is dqn, but group 'agent' acts in Box(-2.0, 2.0, (1,), float32), expected choices; "
            "ddpg and sac act in a Box",
        ),
    ],
)
def test_what_one_of_them_refuses(algorithm: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        config(**{"algorithm": algorithm, **given})
    assert str(error.value) == f"config: {message}"


def test_returns_of_several_steps_lack_entropy(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Trainer(config(n_step=3))
    assert caplog.messages == ["n_step is 3: sac leaves the entropy of the steps between out of its returns"]
