"""A learner with fused kernels does what one with torch alone does."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tests.policies.fused.fused_cases import Case
from tests.trainers.algorithms.ppo_cases import FEATURES, Settings, equal_weights, make_batch, make_policy, seeded
from warpworld.errors import StoreError
from warpworld.policies import ObservationNormaliser
from warpworld.policies.fused import FusedGradients, fuse
from warpworld.trainers.algorithms.a2c import A2C
from warpworld.trainers.algorithms.ppo import PPO


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def weights(learner: Any) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in learner.policy.parameters()])


@pytest.mark.parametrize("algorithm", [PPO, A2C])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("normalised", [False, True])
def test_both_paths_learn_the_same(algorithm: Any, masked: bool, normalised: bool) -> None:
    policy = make_policy()
    if normalised:
        policy.normaliser = ObservationNormaliser(FEATURES)
        policy.normaliser.update(3 * torch.randn(50, FEATURES, generator=seeded(5)) + 1)
    plain, fused = (algorithm(copy.deepcopy(policy), Settings()) for _ in range(2))
    assert fuse(fused.policy)
    start = weights(plain)
    for seed in range(2):
        batch = make_batch(policy, rows=200, seed=seed, masked=masked)
        expected, found = (learner.update(batch, seeded(seed)) for learner in (plain, fused))
        for name, value in expected.items():
            assert found[name].item() == pytest.approx(value.item(), rel=1e-3, abs=1e-4), name
    moved = (weights(plain) - start).norm()
    assert moved > 1e-2
    assert (weights(fused) - weights(plain)).norm() < 1e-2 * moved
    if normalised:
        assert torch.equal(fused.policy.normaliser.mean, plain.policy.normaliser.mean)


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_both_paths_learn_the_same_of_actions_in_a_box(algorithm: Any) -> None:
    """The width of the actions, too."""
    case = Case(hidden=(16, 16), box=3, rows=200)
    policy = case.policy()
    plain, fused = (algorithm(copy.deepcopy(policy), Settings()) for _ in range(2))
    assert fuse(fused.policy)
    start, widths = weights(plain), policy.distribution.log_std.clone()
    for seed in range(2):
        batch = dataclasses.replace(case, seed=seed).batch(policy)
        expected, found = (learner.update(batch, seeded(seed)) for learner in (plain, fused))
        for name, value in expected.items():
            assert found[name].item() == pytest.approx(value.item(), rel=1e-3, abs=1e-4), name
    moved = (weights(plain) - start).norm()
    assert moved > 1e-2 and not torch.equal(fused.policy.distribution.log_std, widths)
    assert (weights(fused) - weights(plain)).norm() < 1e-2 * moved


def test_fewer_rows_than_minibatches_and_none() -> None:
    learner = PPO(make_policy(), Settings(num_minibatches=4))
    fuse(learner.policy)
    for rows in (1, 2, 3, 5):
        diagnostics = learner.update(make_batch(learner.policy, rows=rows), seeded())
        assert all(math.isfinite(value) for value in diagnostics.values())
    before = copy.deepcopy(learner.policy)
    batch = make_batch(learner.policy, rows=8, masked=True)
    batch.mask.zero_()
    learner.update(batch, seeded())
    assert equal_weights(learner.policy, before)


def test_a_restored_learner_goes_on_in_the_same_way() -> None:
    learner, other = (PPO(make_policy(seed), Settings()) for seed in (0, 9))
    for each in (learner, other):
        fuse(each.policy)
    learner.update(make_batch(learner.policy), seeded())
    other.policy.load_state_dict(learner.policy.state_dict())
    other.load_state_dict(learner.state_dict())
    batch = make_batch(learner.policy, seed=1)
    assert learner.update(batch, seeded(1)) == other.update(batch, seeded(1))
    assert equal_weights(learner.policy, other.policy)


@pytest.mark.usefixtures("two_threads")
def test_torch_keeps_to_one_thread_only_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = PPO(make_policy(), Settings())
    fuse(learner.policy)
    gradient, seen = FusedGradients.__call__, []

    def spy(*arguments: Any) -> torch.Tensor:
        seen.append(torch.get_num_threads())
        return gradient(*arguments)

    monkeypatch.setattr(FusedGradients, "__call__", spy)
    learner.update(make_batch(learner.policy), seeded())
    assert set(seen) == {1}
    assert torch.get_num_threads() == 2
    batch = make_batch(learner.policy)
    batch.actions[3, 0] = 99
    with pytest.raises(StoreError, match="batch actions"):
        learner.update(batch, seeded())
    assert torch.get_num_threads() == 2
