"""Generalised advantage estimation in C++ against each trajectory by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from tests.trainers.algorithms.test_gae import random_rollout, rollouts, slow_gae, weights
from warpworld.errors import StoreError
from warpworld.policies.fused import fused_gae
from warpworld.trainers.algorithms.a2c import A2CSettings
from warpworld.trainers.algorithms.targets.estimates import TensorEstimates

GAMMA, LAMBDA = 0.97, 0.9


def tensors_of(rollout: dict[str, np.ndarray]) -> dict[str, Any]:
    tensors = {name: torch.from_numpy(x) for name, x in rollout.items()}
    return {name: x if x.dtype == torch.bool else x.float() for name, x in tensors.items()}


def estimated(rollout: dict[str, Any], gamma: float = GAMMA, gae_lambda: float = LAMBDA) -> tuple[Tensor, Tensor]:
    found = fused_gae(**rollout, gamma=gamma, gae_lambda=gae_lambda)
    assert found is not None
    return found


@settings(max_examples=150)
@given(rollout=rollouts, gamma=weights, gae_lambda=weights)
def test_against_the_slow_reference(rollout: dict[str, np.ndarray], gamma: float, gae_lambda: float) -> None:
    expected = slow_gae(rollout, gamma, gae_lambda)
    advantages, returns = estimated(tensors_of(rollout), gamma, gae_lambda)
    np.testing.assert_allclose(advantages.numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(returns.numpy(), expected + rollout["values"], atol=1e-5)


@pytest.mark.parametrize("name", ["agent_terminated", "agent_truncated"])
def test_an_agent_without_a_flag_leaves_with_its_env(name: str) -> None:
    tensors = tensors_of(random_rollout(0, 8, 3, 2, 0.2))
    never = torch.zeros_like(tensors[name])
    flagged, plain = (estimated({**tensors, name: flag}) for flag in (never, None))
    assert all(map(torch.equal, flagged, plain))


def test_parts_of_wider_arrays_are_read_at_their_places() -> None:
    tensors = tensors_of(random_rollout(1, 5, 4, 3, 0.3))
    wider = {name: torch.stack((x, torch.zeros_like(x)), -1).flatten(-2)[..., ::2] for name, x in tensors.items()}
    assert not wider["rewards"].is_contiguous()
    assert all(map(torch.equal, estimated(wider), estimated(tensors)))


def test_arguments_are_left_as_they_were() -> None:
    tensors = tensors_of(random_rollout(2, 5, 2, 2, 0.3))
    before = {name: x.clone() for name, x in tensors.items()}
    estimated(tensors)
    for name, x in tensors.items():
        torch.testing.assert_close(x, before[name], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("values", torch.zeros(5, 2), r"values: shape \(5, 2\) of torch.float32 on cpu, expected \(5, 2, 2\)"),
        ("terminated", torch.zeros(5, 2, 2, dtype=torch.bool), r"terminated: shape \(5, 2, 2\)"),
        ("truncated", torch.zeros(5, 2), "truncated: .* of torch.float32 on cpu, expected .* of torch.bool"),
        ("next_value", torch.zeros(1, 2, 2), r"next_value: shape \(1, 2, 2\)"),
    ],
)
def test_refuses_other_shapes_and_kinds(name: str, wrong: Tensor, words: str) -> None:
    with pytest.raises(StoreError, match=words):
        estimated({**tensors_of(random_rollout(3, 5, 2, 2, 0.3)), name: wrong})


@pytest.mark.parametrize("in_cpp", [True, False])
@pytest.mark.parametrize(("scale", "limit"), [(0.25, None), (1.0, 0.4), (3.0, 0.5), (2.0, 0.0)])
def test_rewards_are_scaled_and_then_cut_off(
    monkeypatch: pytest.MonkeyPatch, in_cpp: bool, scale: float, limit: float | None
) -> None:
    rollout = random_rollout(5, 12, 4, 2, 0.2)
    learnt = {**rollout, "rewards": np.clip(scale * rollout["rewards"], -(limit or np.inf), limit or np.inf)}
    assert not np.array_equal(learnt["rewards"], rollout["rewards"])
    if not in_cpp:
        monkeypatch.setattr("warpworld.policies.fused.gae.found_library", lambda: None)
    tensors = tensors_of(rollout)
    before, values = tensors["rewards"].clone(), tensors.pop("values")
    estimates = TensorEstimates(A2CSettings(gamma=GAMMA, gae_lambda=LAMBDA, reward_scale=scale, reward_clip=limit))
    advantages, returns = estimates.gae(values, tensors)
    expected = slow_gae(learnt, GAMMA, LAMBDA)
    np.testing.assert_allclose(advantages.numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(returns.numpy(), expected + rollout["values"], atol=1e-5)
    on_policy = estimates.vtrace(values, torch.zeros_like(values), tensors)  # every ratio is 1
    np.testing.assert_allclose(on_policy.numpy(), expected + rollout["values"], atol=1e-5)
    assert torch.equal(tensors["rewards"], before)


def test_unscaled_rewards_are_handed_on_as_they_are() -> None:
    tensors = tensors_of(random_rollout(6, 3, 2, 1, 0.2))
    assert TensorEstimates(A2CSettings())._learnt(tensors) is tensors


def test_torch_estimates_where_the_cpp_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = tensors_of(random_rollout(4, 6, 3, 2, 0.3))
    values, estimates = tensors.pop("values"), TensorEstimates(A2CSettings(gamma=GAMMA, gae_lambda=LAMBDA))
    in_cpp = estimates.gae(values, tensors)
    monkeypatch.setattr("warpworld.policies.fused.gae.found_library", lambda: None)
    assert fused_gae(values=values, **tensors, gamma=GAMMA, gae_lambda=LAMBDA) is None
    torch.testing.assert_close(estimates.gae(values, tensors), in_cpp, rtol=0, atol=1e-5)
