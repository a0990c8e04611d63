"""Observations of several named parts, from the store to a policy that learns from them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.trainers.recorded import Discounts, Recorded, batches_of
from tests.trainers.sighted import Sighted
from warpworld.config import RunConfig, config_from_dict
from warpworld.errors import ConfigError, TrainingError
from warpworld.trainers.algorithms.experience.trajectory_rows import values_of
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.trainers.play import play
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

MODEL = {"type": "multi_input", "kernel_sizes": [3, 3], "strides": [1, 1], "channels": [4, 8], "hidden_sizes": [32]}


def flat(world: World, group: str) -> torch.Tensor:
    """What a group sees, joined by hand: Dicts keep their keys sorted."""
    seen = world.observations(group)
    assert isinstance(seen, dict) and list(seen) == sorted(seen)
    return torch.cat([seen[key].flatten(2) for key in sorted(seen)], -1)


def config(apart: bool = False, steps: int = 5120, **policy: Any) -> RunConfig:
    trainer = {"device": "cpu", "num_envs": 32, "num_steps": 8, "total_env_steps": steps}
    entry = {"model": MODEL, "learning_rate": 0.01, "anneal_lr": False, **policy}
    return config_from_dict(
        {
            "name": "tests.trainers.sighted:Sighted",
            "env": {"apart": apart},
            "trainer": trainer,
            "policy": {"left": entry, "right": entry} if apart else {"both": {**entry, "groups": ["left", "right"]}},
        }
    )


@pytest.mark.parametrize("apart", [False, True])
def test_each_row_holds_all_parts_behind_each_other(apart: bool) -> None:
    world = World(Sighted(apart=apart), 3)
    rollout = Recorded(world, dict.fromkeys(world.groups), num_steps=7, graph_steps=0)
    rollout.in_one_call = False  # steps are watched by Python
    world.reset()
    expected: dict[str, list[torch.Tensor]] = {group: [] for group in world.groups}
    one = rollout.acting()._one
    step = one.run

    def watched() -> None:
        for group, rows in expected.items():
            rows.append(flat(world, group))
        step()

    one.run = watched  # type: ignore[method-assign]
    rollout.collect()
    rollout.check_finite()
    for group, rows in expected.items():
        features = 1 + 3 + 24 if group == "left" or not apart else 1 + 24
        seen = rollout.trajectories(group).observations
        assert seen.shape == (7, 3, world.groups[group].size, features)
        assert torch.equal(seen, torch.stack(rows))
        assert torch.equal(rollout.actors[group].observations(), flat(world, group))


@pytest.mark.parametrize("apart", [False, True])
def test_truncated_episodes_expect_what_their_last_observation_is_worth(apart: bool) -> None:
    trainer = Trainer(config(apart))
    world, rollout = trainer.world, trainer.collector.shared(Rollout)
    trainer.collector.collect()
    ahead = Discounts(0.9, 0.0)  # lambda 0: returns are one step ahead
    policies = world.groups if apart else ["both"]
    batches = {group: rows for name in policies for group, rows in batches_of(trainer, name, ahead).items()}
    for group in world.groups:
        policy = trainer.policies[group if apart else "both"]
        assert policy is not None
        seen = rollout.trajectories(group)
        final, truncated = rollout._final_rows(seen), seen.truncated
        assert torch.equal(final[..., 0][truncated], torch.full_like(final[..., 0][truncated], 5.0))  # the health
        assert (final[..., -24:].sum(-1)[truncated] == 1.0).all()  # one bright pixel
        returns, rewards = batches[group].rows.returns.view(8, 32, -1), seen.rewards
        expected = rewards + 0.9 * values_of(policy, final)
        torch.testing.assert_close(returns[truncated], expected[truncated])
        assert truncated.sum() == 32


@pytest.mark.heavy
@pytest.mark.parametrize("apart", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.long
@pytest.mark.usefixtures("optimised")
def test_it_is_learnt_from_the_pixels(apart: bool) -> None:
    """Which of 24 numbers is bright says what pays; a random agent gets half."""
    trainer = Trainer(config(apart, steps=10_240))
    returns = play(trainer.config, trainer.policies, 64).returns
    assert all(float(each.mean()) < 3.5 for each in returns.values())
    trainer.train(None)
    returns = play(trainer.config, trainer.policies, 64).returns
    assert all(float(each.mean()) > 4.5 for each in returns.values())  # of 5


def test_a_perceptron_sees_all_parts_too() -> None:
    trainer = Trainer(config(model={"type": "mlp", "normalise_observations": True}, steps=256))
    policy = trainer.policies["both"]
    assert policy is not None and policy.normaliser is not None and policy.normaliser.mean.shape == (28,)
    trainer.train(None)
    assert policy.normaliser.count == 32 * 8 * 3


def test_a_part_that_is_not_finite_is_named() -> None:
    trainer = Trainer(config())
    world = trainer.world
    world["observations_motion"][4, 2, 1] = float("nan")
    trainer.collector.collect()
    with pytest.raises(TrainingError, match=r"observations of env 4, agent 2 \(right 0\), number 2 in step 0 of the"):
        trainer.collector.check_finite()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (dict(kernel_size=[3]), r"model.kernel_size is not a known key. Did you mean 'kernel_sizes'\?"),
        (dict(channels=[4, 0]), r"channels\[1\] is 0, expected at least 1"),
        (dict(strides=2), "strides is 2, expected a list"),
        (dict(branch_size=0), "branch_size is 0, expected at least 1"),
        (dict(activation="gelu"), "activation is 'gelu', expected 'tanh' or 'relu'"),
    ],
)
def test_wrong_settings_are_refused_with_the_config(model: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config(model={**MODEL, **model})


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            dict(kernel_sizes=[8, 4], strides=[4, 2]),
            r"^model 'multi_input': observation 'strip' has 12 pixels, expected at least 20 for kernel_sizes \[8, 4\] "
            r"with strides \[4, 2\]; take smaller or fewer of them$",
        ),
        (
            dict(channels=[4]),
            r"^model 'multi_input': channels \[4\], kernel_sizes \[3, 3\] and strides \[1, 1\], expected equally many",
        ),
    ],
)
def test_settings_that_do_not_go_with_the_observation(model: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Trainer(config(model={**MODEL, **model}))
