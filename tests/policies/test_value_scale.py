"""Units of values: moments against loops in float64, and what PopArt keeps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from warpworld.policies.value_scale import DECAY, ValueScale


def moments(returns: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(returns.mean()), torch.tensor(returns.var())


def test_moments_are_exponential_averages_without_the_bias_of_the_start() -> None:
    random, scale = np.random.default_rng(0), ValueScale()
    seen = [random.normal(3.0 * update, 1.0 + update, 50) for update in range(5)]
    for returns in seen:
        scale.follow(*moments(returns))
    weights = np.array([DECAY**age for age in range(4, -1, -1)])
    weights /= weights.sum()
    mean = sum(weight * returns.mean() for weight, returns in zip(weights, seen, strict=True))
    square = sum(weight * (returns**2).mean() for weight, returns in zip(weights, seen, strict=True))
    assert scale.mean.item() == pytest.approx(mean, rel=1e-12)
    assert scale.deviation.item() == pytest.approx(np.sqrt(square - mean**2), rel=1e-12)


def test_units_there_and_back() -> None:
    scale = ValueScale()
    scale.follow(torch.tensor(5.0).double(), torch.tensor(4.0).double())
    returns = torch.tensor([5.0, 7.0, 1.0])
    assert scale.scaled(returns).tolist() == [0.0, 1.0, -2.0]
    assert scale.in_rewards(torch.tensor([0.0, 1.0, -2.0])).tolist() == returns.tolist()


def test_equal_returns_do_not_divide_by_zero() -> None:
    scale = ValueScale()
    scale.follow(torch.tensor(2.0).double(), torch.tensor(0.0).double())
    assert scale.scaled(torch.tensor([2.0, 2.01])).tolist() == pytest.approx([0.0, 1.0], abs=1e-4)


def test_popart_keeps_what_values_say_in_units_of_reward() -> None:
    torch.manual_seed(0)
    scale, layer, seen = ValueScale(), nn.Linear(6, 1), torch.randn(20, 6)
    scale.follow(torch.tensor(1.0).double(), torch.tensor(4.0).double(), layer)
    for mean, variance in ((300.0, 5.0), (-20.0, 9000.0), (0.5, 0.01)):
        with torch.no_grad():
            before = scale.in_rewards(layer(seen))
            scale.follow(torch.tensor(mean).double(), torch.tensor(variance).double(), layer)
            torch.testing.assert_close(scale.in_rewards(layer(seen)), before, rtol=1e-4, atol=1e-4)
    assert scale.deviation > 2.5  # it has moved


def test_the_first_returns_leave_the_layer() -> None:
    scale, layer = ValueScale(), nn.Linear(6, 1)
    before = layer.weight.clone()
    scale.follow(torch.tensor(100.0).double(), torch.tensor(0.0).double(), layer)
    assert torch.equal(layer.weight, before)
