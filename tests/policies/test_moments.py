"""Mean and variance of the rows that count."""

from __future__ import annotations

import torch

from warpworld.policies.inputs.normaliser import ObservationNormaliser
from warpworld.policies.moments import moments, variance_of

ROWS = torch.tensor([[1.0, 2.0], [float("nan"), 9.0], [3.0, -2.0], [5.0, float("inf")]]).double()
MASK = torch.tensor([True, False, True, False])


def test_by_hand() -> None:
    count, mean, variance = moments(ROWS, MASK)
    assert isinstance(count, torch.Tensor) and count == 2
    assert mean.tolist() == [2.0, 0.0] and variance.tolist() == [1.0, 4.0]
    assert moments(ROWS[[0, 2]], None)[0] == 2
    assert all(torch.equal(a, b) for a, b in zip(moments(ROWS[[0, 2]], None)[1:], (mean, variance), strict=True))


def test_variance_of_numbers_far_from_0_and_of_equal_ones() -> None:
    numbers = 1000.0 + torch.randn(10_001, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(variance_of(numbers).double(), numbers.double().var(correction=0), rtol=1e-5, atol=0.0)
    assert variance_of(torch.full((10_001,), 0.1)).item() == variance_of(torch.ones(1)).item() == 0.0


def test_no_row_counts() -> None:
    count, mean, variance = moments(ROWS, torch.zeros(4, dtype=torch.bool))
    assert count == 0 and mean.tolist() == variance.tolist() == [0.0, 0.0]


def test_a_normaliser_takes_in_the_rows_that_count() -> None:
    masked, dropped = ObservationNormaliser(2), ObservationNormaliser(2)
    for normaliser in (masked, dropped):
        normaliser.update(torch.randn(7, 2, generator=torch.Generator().manual_seed(1)))
    masked.update(ROWS.float(), MASK)
    dropped.update(ROWS[[0, 2]].float())
    for one, other in zip(masked.buffers(), dropped.buffers(), strict=True):
        assert torch.allclose(one, other, rtol=1e-12)


def test_a_normaliser_stays_as_it_is_where_no_row_counts() -> None:
    for seen in (0, 5):
        normaliser = ObservationNormaliser(2)
        normaliser.update(torch.randn(seen, 2, generator=torch.Generator().manual_seed(1)))
        before = [buffer.clone() for buffer in normaliser.buffers()]
        normaliser.update(ROWS.float(), torch.zeros(4, dtype=torch.bool))
        assert all(torch.equal(a, b) for a, b in zip(before, normaliser.buffers(), strict=True))
