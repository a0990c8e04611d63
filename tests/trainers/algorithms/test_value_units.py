"""Units of values in an update: what is learnt is what was said, and what is reported is in units of reward."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from tests.trainers.algorithms.ppo_cases import Settings, make_batch, make_policy, seeded
from warpworld.policies import Policy
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.ppo import PPO
from warpworld.trainers.algorithms.targets.value_units import give_units

KINDS = ("popart", "running")


def learner(kind: str | None) -> PPO:
    policy = make_policy()
    give_units(policy, kind, "mlp")
    return PPO(policy, Settings(normalise_returns=kind, num_minibatches=1, update_epochs=1))


def batch_of(policy: Policy, seed: int, mean: float, deviation: float) -> Batch:
    """Rows whose values are the policy's, in units of reward, and whose returns have these moments."""
    batch = make_batch(policy, rows=200, seed=seed, masked=True)
    returns = mean + deviation * torch.randn(200, generator=seeded(seed))
    return batch.with_columns(returns=returns, advantages=returns - batch.values)


@pytest.mark.parametrize("kind", KINDS)
def test_the_values_of_a_batch_are_what_the_critic_says_before_it_learns(kind: str) -> None:
    ppo = learner(kind)
    for seed, mean in enumerate((-20.0, -18.0, 40.0)):
        batch = batch_of(ppo.policy, seed, mean, 4.0)
        ppo.units.follow(batch)
        learnt = ppo.units.of_experience(batch)
        with torch.no_grad():
            said = learnt.rows.evaluated(ppo.policy)[1]
        torch.testing.assert_close(learnt.rows.values, said, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(ppo.policy.value_scale.in_rewards(learnt.rows.returns), batch.returns)  # type: ignore[union-attr]
        ppo.update(learnt, seeded(seed))


@pytest.mark.parametrize("kind", KINDS)
def test_explained_variance_is_that_of_units_of_reward(kind: str) -> None:
    ppo = learner(kind)
    for seed, mean in enumerate((300.0, 100.0)):
        batch = batch_of(ppo.policy, seed, mean, 50.0)
        ppo.units.follow(batch)
        found = ppo.update(ppo.units.of_experience(batch), seeded(seed))["explained_variance"]
        rows = batch.counted()
        expected = 1.0 - (rows.returns - rows.values).var(correction=0) / rows.returns.var(correction=0)
        assert found.item() == pytest.approx(expected.item(), abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_of_rewards_does_not_matter_to_the_gradient(kind: str) -> None:
    """The first update of the same policy, from returns that are a thousand times as large."""
    moved = []
    for size in (1.0, 1000.0):
        ppo = learner(kind)
        before = copy.deepcopy(dict(ppo.policy.named_parameters()))
        batch = batch_of(ppo.policy, 0, 2.0 * size, size)
        batch = batch.with_columns(advantages=torch.zeros_like(batch.advantages))
        ppo.units.follow(batch)
        ppo.update(ppo.units.of_experience(batch), seeded(0))
        moved.append({name: weight - before[name] for name, weight in ppo.policy.named_parameters()})
    for name, by in moved[0].items():
        torch.testing.assert_close(moved[1][name], by, rtol=1e-3, atol=1e-6)
    assert any(by.abs().max() > 0 for by in moved[0].values())


def test_without_units_a_batch_stays_as_it_is() -> None:
    ppo: Any = learner(None)
    batch = make_batch(ppo.policy)
    ppo.units.follow(batch)
    assert ppo.units.of_experience(batch) is batch
