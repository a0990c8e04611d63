"""The layer that normalises observations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from warpworld.policies import ObservationNormaliser


def test_untouched_it_passes_numbers_on_up_to_the_limit() -> None:
    layer = ObservationNormaliser(3)
    seen = layer(torch.tensor([[0.5, -3.0, 25.0], [-11.0, 0.0, 10.0]]))
    torch.testing.assert_close(seen, torch.tensor([[0.5, -3.0, 10.0], [-10.0, 0.0, 10.0]]))


def test_by_hand() -> None:
    layer = ObservationNormaliser(2)
    layer.update(torch.tensor([[1.0, 5.0], [3.0, 5.0]]))  # means 2 and 5, variances 1 and 0
    assert layer.mean.tolist() == [2.0, 5.0]
    assert layer.variance.tolist() == [1.0, 0.0]
    torch.testing.assert_close(layer(torch.tensor([4.0, 5.0])), torch.tensor([2.0, 0.0]))
    layer.update(torch.tensor([[8.0, 5.0]]))  # 1, 3, 8: mean 4, variance 26/3
    assert layer.mean.tolist() == [4.0, 5.0]
    assert layer.variance[0].item() == pytest.approx(26 / 3)
    assert layer.count.item() == 3


@settings(max_examples=30)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=6), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e4]))
def test_moments_of_parts_are_those_of_the_whole(sizes: list[int], seed: int, offset: float) -> None:
    random = np.random.default_rng(seed)
    parts = [(random.normal(size=(size, 3)) * [1, 10, 0.1] + offset).astype(np.float32) for size in sizes]
    layer = ObservationNormaliser(3)
    for part in parts:
        layer.update(torch.from_numpy(part))
    whole = np.concatenate(parts).astype(np.float64)
    if len(whole):
        np.testing.assert_allclose(layer.mean, whole.mean(0), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(layer.variance, whole.var(0), rtol=1e-6, atol=1e-12)
    assert layer.count.item() == len(whole)


def test_moments_are_part_of_the_state() -> None:
    layer, other = ObservationNormaliser(2), ObservationNormaliser(2)
    layer.update(torch.randn(50, 2) * 3 + 1)
    other.load_state_dict(layer.state_dict())
    rows = torch.randn(5, 2)
    assert torch.equal(layer(rows), other(rows))
    assert not list(layer.parameters())
