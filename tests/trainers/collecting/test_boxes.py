"""Actions in a Box: drawing, recording, scaling, and learning."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import Aim
from warpworld.config import config_from_dict
from warpworld.policies import MLP, Gaussian, Policy
from warpworld.policies.samplers import scaling_to
from warpworld.runs import Run
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.evaluate import evaluate
from warpworld.trainers.trainer import Trainer
from warpworld.world import World

LOG_STD = (-0.7, 0.4)


def made_policy(means: tuple[float, float] = (0.3, -0.2)) -> Policy:
    """The same means whatever is seen."""
    policy = Policy(MLP(Box(-1.0, 1.0, (2,)), 2, hidden_sizes=()), Gaussian(2))
    with torch.no_grad():
        policy.model.actor_layers[-1].weight.zero_()
        policy.model.actor_layers[-1].bias.copy_(torch.tensor(means))
        policy.distribution.log_std.copy_(torch.tensor(LOG_STD))
    return policy


def acting(kernel: str, policy: Policy | None, num_envs: int = 20_000, **params: Any) -> tuple[World, Actor]:
    world = World(Aim(**params), num_envs, seed=4)
    actor = Actor(world, "archer", policy.to(world.device) if policy else None, kernel)
    world.reset()
    return world, actor


def test_scaling_by_hand() -> None:
    inf = float("inf")
    box = Box(np.array([-1, 0, -inf, -inf], np.float32), np.array([3, inf, inf, 5], np.float32))
    assert scaling_to(box).tolist() == [[1, 0, 0, 0], [2, 1, 1, 1], [-1, 0, -inf, -inf], [3, inf, inf, 5]]


def test_what_is_drawn_is_normal_and_recorded_with_its_density() -> None:
    world = World(Aim(), 20_000, seed=4)
    policy = made_policy().to(world.device)
    rollout = Recorded(world, {"archer": policy}, 3)
    world.reset()
    rollout.collect()
    seen = rollout.trajectories("archer")
    assert seen.actions.dtype == torch.float32
    drawn = seen.actions.double().flatten(0, 2).cpu()
    deviations = (drawn - torch.tensor([0.3, -0.2])) / torch.tensor(LOG_STD).exp()
    rows = len(deviations)
    assert rows == 120_000
    for moment, expected, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):  # spread: variance of the power
        assert ((deviations**moment).mean(0) - expected).abs().max() < 5.5 * math.sqrt(spread / rows)
    assert abs((deviations[:, 0] * deviations[:, 1]).mean().item()) < 5.5 / math.sqrt(rows)
    normal = torch.distributions.Normal(torch.tensor([0.3, -0.2]).double(), torch.tensor(LOG_STD).double().exp())
    log_probs = seen.log_probs.flatten().double().cpu()
    torch.testing.assert_close(log_probs, normal.log_prob(drawn).sum(-1), rtol=1e-5, atol=1e-5)
    expected = torch.stack([(1 + 2 * drawn[:, 0]).clamp(-1, 3), drawn[:, 1].clamp(min=0)], 1)[-40_000:]
    torch.testing.assert_close(world["actions"].flatten(0, 1).double().cpu(), expected, rtol=1e-5, atol=1e-5)
    batch = rollout.batch("archer", policy, 0.9, 0.9)
    with torch.no_grad():
        log_probs, _ = policy.distribution.log_prob_and_entropy(policy.outputs(batch.observations), batch.actions)
    torch.testing.assert_close(log_probs, batch.log_probs, rtol=1e-5, atol=1e-5)


def test_act_draws_what_sample_draws() -> None:
    world, actor = acting("act", made_policy())
    actor.act()
    acted = world["actions"].clone()
    world = World(Aim(), 20_000, seed=4)
    rollout = Recorded(world, {"archer": made_policy().to(world.device)}, 1)
    world.reset()
    rollout.actors["archer"].act()
    assert torch.equal(world["actions"], acted)


def test_greedy_takes_the_mean() -> None:
    world, actor = acting("act_greedily", made_policy((0.5, 2.0)), num_envs=3)
    actor.act()
    torch.testing.assert_close(world["actions"].cpu(), torch.tensor([2.0, 2.0]).expand(3, 2, 2))


def test_without_a_policy_the_box_is_filled_evenly() -> None:
    world, actor = acting("act", None)
    actor.act()
    bounded, half_bounded = world["actions"].double().flatten(0, 1).unbind(1)
    counts = torch.histc(bounded, 20, -1, 3)
    assert counts.sum() == 40_000
    assert ((counts - 2000) ** 2 / 2000).sum() < 60  # chi-square of 19 degrees: exceeded once in 300,000
    assert half_bounded.min() == 0  # a normal number, cut off
    assert abs((half_bounded > 0).double().mean().item() - 0.5) < 0.015


def configured(**policy: Any) -> Any:
    trainer = {"num_envs": 256, "num_steps": 4, "total_env_steps": 60_000}
    entry = {"learning_rate": 1e-2, "num_minibatches": 4, "model": {"hidden_sizes": [8]}, "ent_coef": 0, **policy}
    return config_from_dict(
        {"name": "tests.trainers.small_worlds:Aim", "trainer": trainer, "policy": {"archer": entry}}
    )


@pytest.mark.heavy
@pytest.mark.parametrize("algorithm", ["ppo", "a2c"])
@pytest.mark.long
def test_it_is_learnt(algorithm: str, tmp_path: Path) -> None:
    config = configured(algorithm=algorithm, **({"num_minibatches": 16} if algorithm == "a2c" else {}))
    trainer, run = Trainer(config), Run.create(config, tmp_path)
    trainer.train(run)
    assert torch.all(trainer.policies["archer"].distribution.log_std < -0.5)  # surer than at first
    found = evaluate(run, episodes=500, greedy=True)["archer"]
    assert found["random_return"] < -2
    assert found["mean_return"] > -0.05
