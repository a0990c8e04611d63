"""Updates of a single step, where CUDA graphs are captured: one pass through the networks gives values and the loss."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.trainers.algorithms.test_captured_on_policy_updates import RELAY, trained
from warpworld.trainers.algorithms.targets.targets import GAETargets
from warpworld.trainers.algorithms.updates.captured_updates import CapturedUpdates

pytestmark = pytest.mark.cuda_backend

A2C = {"algorithm": "a2c", "learning_rate": 0.01}
WAYS: dict[str, dict[str, Any]] = {
    "one agent": {"name": "cartpole", "policy": {"agent": {**A2C, "model": {"normalise_observations": True}}}},
    "agents that leave": {"name": RELAY, "policy": {"left": A2C, "right": {**A2C, "model": {"shared": True}}}},
    "two groups of a policy": {
        "name": "tag_gridworld",
        "policy": {"both": {**A2C, "groups": ["tagger", "runner"], "model": {"activation": "relu"}}},
    },
    "ppo": {"name": "cartpole", "policy": {"agent": {"num_minibatches": 1, "update_epochs": 1}}},
}
OTHERS: dict[str, dict[str, Any]] = {
    "two epochs": {"num_minibatches": 1, "update_epochs": 2},
    "two minibatches": {"num_minibatches": 2, "update_epochs": 1},
    "popart": {**A2C, "normalise_returns": "popart"},
    "v-trace": {**A2C, "value_targets": "vtrace"},
    "a memory": {**A2C, "model": {"recurrent": "gru"}},
}


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each rollout that is evaluated once."""
    done, evaluate = list[int](), GAETargets.evaluated_once

    def count(self: GAETargets) -> Any:
        done.append(1)
        return evaluate(self)

    monkeypatch.setattr(GAETargets, "evaluated_once", count)
    return done


@pytest.mark.parametrize("way", WAYS)
def test_what_is_learnt_is_the_same_but_for_rounding(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = counted(monkeypatch)
    once, metrics = trained(WAYS[way], 0)
    assert len(done) == 6 * len(WAYS[way]["policy"])
    monkeypatch.setattr(CapturedUpdates, "_takes_one_step", False)
    twice, expected = trained(WAYS[way], 0)
    for name, policy in once.policies.items():
        assert policy is not None
        for key, value in policy.state_dict().items():
            other = twice.policies[name].state_dict()[key]  # type: ignore[union-attr]
            torch.testing.assert_close(value, other, rtol=1e-4, atol=1e-5)
    of_losses = [name for name in metrics[-1] if name.startswith("losses/")]
    assert of_losses
    for name in of_losses:
        assert metrics[-1][name] == pytest.approx(expected[-1][name], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_it_is_captured_as_it_is(way: str) -> None:
    (eager, _), (captured, _) = trained(WAYS[way], 0), trained(WAYS[way], 4)
    for name, policy in eager.policies.items():
        for key, value in policy.state_dict().items():  # type: ignore[union-attr]
            assert torch.equal(value, captured.policies[name].state_dict()[key]), key  # type: ignore[union-attr]


@pytest.mark.parametrize("way", OTHERS)
def test_other_updates_evaluate_again(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done = counted(monkeypatch)
    trained({"name": "cartpole", "policy": {"agent": OTHERS[way]}}, 0)
    assert not done
