"""The variance of many numbers in C++, against float64."""

from __future__ import annotations

import pytest
import torch

from warpworld.errors import StoreError
from warpworld.policies.fused import fused_variance


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 10_007])
@pytest.mark.parametrize(("centre", "width"), [(0.0, 1.0), (-1e4, 1.0), (1e6, 10.0), (3.0, 1e-3)])
def test_the_variance_is_that_of_float64(count: int, centre: float, width: float) -> None:
    torch.manual_seed(count)
    numbers, less = (centre + width * torch.randn(count) for _ in range(2))
    for given in ((numbers,), (numbers, less)):
        left = numbers if len(given) == 1 else numbers - less  # as float32 has it
        found = fused_variance(*given)
        assert found is not None and found.dtype == torch.float32 and found.shape == ()
        torch.testing.assert_close(found.double(), left.double().var(correction=0), rtol=1e-6, atol=0.0)


def test_equal_numbers_have_none() -> None:
    numbers = torch.full((10_001,), 0.1)
    assert fused_variance(numbers) == fused_variance(torch.arange(99.0), torch.arange(99.0) + 5) == 0.0
    assert fused_variance(torch.tensor([1.0, float("nan")])).isnan()  # type: ignore[union-attr]


def test_views_are_read_where_they_lie() -> None:
    numbers = torch.randn(50, 3)
    expected = numbers[:, 1].double().var(correction=0)
    torch.testing.assert_close(fused_variance(numbers[:, 1]).double(), expected)  # type: ignore[union-attr]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(StoreError, match=r"less: shape \(4,\) of torch.float32 on cpu, expected \(5,\)"):
        fused_variance(torch.ones(5), torch.ones(4))
    with pytest.raises(
        StoreError, match=r"numbers: shape \(5,\) of torch.int64 on cpu, expected \(5,\) of torch.float32"
    ):
        fused_variance(torch.arange(5))


def test_none_where_the_cpp_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpworld.policies.fused.variance.found_library", lambda: None)
    assert fused_variance(torch.ones(5)) is None
