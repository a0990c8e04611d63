"""When more envs no longer pay, by hand."""

from __future__ import annotations

import pytest

from warpworld.cli.tune.choice import chosen, fits, has_flattened


@pytest.mark.parametrize(
    ("rates", "flat"),
    [
        ([100.0], False),
        ([100.0, 105.0], False),  # one doubling may be noise
        ([100.0, 105.0, 109.0], True),
        ([100.0, 105.0, 111.0], False),
        ([100.0, 90.0, 120.0, 121.0], False),  # the last two against the best of the first two
        ([100.0, 200.0, 205.0, 150.0], True),
    ],
)
def test_two_doublings_that_gain_less_than_a_tenth_are_flat(rates: list[float], flat: bool) -> None:
    assert has_flattened(rates) is flat


@pytest.mark.parametrize(
    ("rates", "place"), [([5.0], 0), ([50.0, 94.0, 100.0], 2), ([50.0, 95.0, 100.0], 1), ([99.0, 100.0, 80.0], 0)]
)
def test_the_smallest_size_that_is_nearly_as_fast_is_taken(rates: list[float], place: int) -> None:
    assert chosen(rates) == place


def test_twice_as_many_envs_take_at_most_half_of_the_memory() -> None:
    assert fits(100, 300) and not fits(100, 299)  # 200 of what the 400 and 399 bytes would leave
    assert fits(10**15, None)
