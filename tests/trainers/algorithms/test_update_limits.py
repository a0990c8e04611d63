"""Where an update stops, and how far it steps: target_kl, Adam's epsilon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from tests.trainers.in_turn import OPPONENTS, trained, weights

ADAM_EPS = 1e-5  # Huang et al. 2022, "The 37 Implementation Details of PPO", detail 3


def kl_of_second_epoch(**policy: Any) -> float:
    """That of the first epoch is 0: its only minibatch has the policy that acted."""
    seen: list[Mapping[str, Any]] = []
    trained(update_epochs=2, on_iteration=seen.append, **policy)
    return 2.0 * seen[0]["losses/both/approx_kl"]


def epochs(**policy: Any) -> int:
    """How many epochs of 10 an update takes: Adam makes a step in each."""
    trainer = trained(update_epochs=10, **policy)
    steps = {int(state["step"]) for state in optimiser_states(trainer.state_dict())}
    assert len(steps) == 1
    return steps.pop()


def optimiser_states(state: Any) -> list[Mapping[str, Any]]:
    """All parts of a state that hold Adam's moments, wherever they lie."""
    if not isinstance(state, Mapping):
        return []
    if "exp_avg" in state:
        return [state]
    return [found for part in state.values() for found in optimiser_states(part)]


def test_target_kl_is_exceeded_above_its_value() -> None:
    """Just above what the second epoch has, more epochs follow; just below, none does."""
    kl = kl_of_second_epoch(learning_rate=1e-2)
    assert kl > 1e-5
    assert epochs(learning_rate=1e-2, target_kl=0.99 * kl) == 2
    assert epochs(learning_rate=1e-2, target_kl=1.01 * kl) > 2


def test_a_first_step_of_adam_is_the_gradient_by_its_length_and_epsilon() -> None:
    """With gradients around epsilon, a fifth of the step's size depends on it."""
    rate = 1e-3
    before = trained(train=False)
    trainer = trained(learning_rate=rate, anneal_lr=False, update_epochs=1, max_grad_norm=1e-4)
    policy = trainer.policies["both"]
    assert policy is not None
    gradient = torch.cat([parameter.grad.flatten() for parameter in policy.parameters()]).cpu()
    assert gradient.norm().item() == pytest.approx(1e-4, rel=1e-3)
    expected = -rate * gradient / (gradient.abs() + ADAM_EPS)
    assert weights(trainer) - weights(before) == pytest.approx(expected, abs=1e-3 * rate)


@pytest.mark.parametrize(("self_play", "rows"), [(None, 2 * 8 * 8), (OPPONENTS, 2 * 8 * (8 + 4) // 2)])
def test_a_normaliser_takes_in_no_row_that_does_not_count(self_play: dict[str, Any] | None, rows: int) -> None:
    """Of 2 agents that take turns in 8 envs and 16 steps, but in 4 envs an opponent plays one; who is out sees junk."""
    found = []
    for junk in (0.0, 50.0):
        model = {"normalise_observations": True}
        policy = trained({"junk": junk}, iterations=2, model=model, self_play=self_play).policies["both"]
        assert policy is not None and policy.normaliser is not None
        assert policy.normaliser.count.item() == rows
        found.append(torch.stack([policy.normaliser.mean, policy.normaliser.variance]))
    assert torch.equal(*found)
