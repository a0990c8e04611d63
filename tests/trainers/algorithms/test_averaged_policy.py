"""Weights that are averaged over updates: beside float64, in evaluations, checkpoints and what loads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainers.algorithms.ppo_cases import Settings, make_batch, make_policy, seeded
from warpworld.config import RunConfig, config_from_dict, load_config
from warpworld.errors import ConfigError, RunError
from warpworld.policies import Policy
from warpworld.runs import Run
from warpworld.trainers.algorithms.a2c import A2C
from warpworld.trainers.algorithms.ppo import PPO
from warpworld.trainers.building import fuse_policies
from warpworld.trainers.evaluations import measures_of
from warpworld.trainers.loaded_policies import load_policies
from warpworld.trainers.trainer import Trainer

DECAY = 0.8


def weights(policy: Policy) -> torch.Tensor:
    return torch.cat([each.detach().double().flatten() for each in policy.parameters()])


@pytest.mark.parametrize("in_cpp", [False, True])
@pytest.mark.parametrize("kind", [PPO, A2C])
def test_it_is_the_average_of_what_updates_leave(kind: type[PPO] | type[A2C], in_cpp: bool) -> None:
    policy = make_policy()
    if in_cpp:
        fuse_policies({"agent": policy}, True)
    settings = Settings(learning_rate=1e-2, num_minibatches=4, ema_decay=DECAY)
    algorithm = kind(policy, settings if kind is PPO else A2C.Settings(learning_rate=1e-2, ema_decay=DECAY))
    expected = weights(policy)
    for seed in range(6):
        algorithm.update(make_batch(policy, seed=seed), seeded(seed))
        expected = DECAY * expected + (1 - DECAY) * weights(policy)
    torch.testing.assert_close(weights(algorithm.shown), expected, rtol=0, atol=1e-6)
    assert not torch.allclose(weights(policy), expected, rtol=0, atol=1e-4)  # so that it matters which is which


def test_without_it_the_policy_itself_is_shown() -> None:
    policy = make_policy()
    algorithm = PPO(policy, Settings())
    assert algorithm.shown is policy and algorithm.average is None


# ---- in a run --------------------------------------------------------------------------------------------------------
def kuhn(**settings: Any) -> RunConfig:
    """A short run that is evaluated, with units of values: buffers, which are not averaged."""
    player = {"groups": ["first", "second"], "learning_rate": 1e-2, "normalise_returns": "running"}
    return config_from_dict(
        {
            "name": "kuhn_poker",
            "trainer": {"num_envs": 8, "num_steps": 8, "total_env_steps": 64 * 5, "device": "cpu"},
            "policy": {"player": {**player, "ema_decay": DECAY, **settings}},
            "saving": {"eval_every": 5, "eval_episodes": 8, "loggers": []},
        }
    )


def same_weights(one: Policy | None, other: Policy | None) -> bool:
    assert one is not None and other is not None
    theirs = other.state_dict()
    return all(torch.equal(value.cpu(), theirs[key].cpu()) for key, value in one.state_dict().items())


@pytest.mark.long
def test_evaluations_and_checkpoints_have_it(tmp_path: Path) -> None:
    """The score, the newest checkpoint and the best one are of averaged weights; agents act with the others."""
    config, metrics = kuhn(), list[dict[str, Any]]()
    run, trainer = Run.create(config, tmp_path), Trainer(config)
    trainer.train(run, lambda each: metrics.append(dict(each)))
    run.close()
    learner, shown = trainer.policies["player"], trainer.shown["player"]
    assert learner is not None and shown is not None and not same_weights(learner, shown)
    buffers = [*zip(shown.buffers(), learner.buffers(), strict=True)]
    assert buffers and all(torch.equal(own, given) for own, given in buffers)
    for which in (None, "best"):
        assert same_weights(load_policies(run, which)["player"], shown)  # type: ignore[arg-type]
    environment = config.make_environment()
    of_shown, of_learner = (measures_of(config, environment, {"player": each}) for each in (shown, learner))
    assert metrics[-1]["eval/exploitability"] == of_shown["eval/exploitability"] != of_learner["eval/exploitability"]
    assert {actor.policy for actor in trainer.collector.actors.values()} == {learner}


def test_another_run_begins_with_averaged_weights(tmp_path: Path) -> None:
    config = kuhn()
    run, trainer = Run.create(config, tmp_path), Trainer(config)
    trainer.train(run)
    run.close()
    following = Trainer(kuhn(initial_weights=str(run.path)))
    assert same_weights(following.policies["player"], trainer.shown["player"])
    assert same_weights(following.shown["player"], trainer.shown["player"])


@pytest.mark.parametrize("saved", [None, 0.5, torch.zeros(3)])
def test_a_checkpoint_needs_the_weights_that_learn(saved: Any) -> None:
    trainer = Trainer(kuhn())
    state = trainer.state_dict()
    state["learners"]["player"]["weights"] = saved
    with pytest.raises(RunError, match=r"policy 'player': the saved weights beside their average are .*, expected a v"):
        trainer.load_state_dict(state)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["policy.agent.ema_decay=1"], "ema_decay is 1, expected less than 1"),
        (["policy.agent.ema_decay=-0.5"], "ema_decay is -0.5, expected at least 0"),
        (
            ["policy.agent.ema_decay=0.9", "policy.agent.population={members: 2, settings: {ent_coef: [0.001, 0.1]}}"],
            "ema_decay is 0.9, but the policy is learnt by a population, whose best member it is; set ema_decay=null",
        ),
    ],
)
def test_refusals(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config("cartpole", words)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
