"""Observations that are copied from a ring into a batch: small and large ones, by any number of envs and workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cuda.kernel_worlds import kernel_world, run
from warpworld import Array

ROWS = 50


def copied(dtype: str, ring: np.ndarray, places: np.ndarray, finite: int = 0, **world: Any) -> np.ndarray:
    """What the kernel writes into a batch that held other numbers."""
    total, count = len(places), ring.shape[1]
    arrays = [
        Array("ring", dtype, ring.shape, per="world"),
        Array("places", "int32", (total,), per="world"),
        Array("batch", dtype, (total, count), per="world"),
    ]
    values = {"ring": ring, "places": places, "batch": np.full((total, count), 77, dtype)}
    kernel = "copy_bytes" if dtype == "uint8" else "copy_floats"
    constants = {"FRAMES": total, "NUMBERS": count, "ONLY_FINITE": finite}
    return run(kernel_world("frames.cu", kernel, arrays, values=values, constants=constants, **world), "batch")[0]


def given(dtype: str, total: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A ring, places in it, and the batch that they make."""
    draws = np.random.default_rng(total + count)
    ring = draws.integers(0, 256, (ROWS, count)).astype(dtype)
    places = draws.integers(-3, ROWS, total).astype(np.int32)
    return ring, places, np.where(places[:, None] < 0, 0, ring[places]).astype(dtype)


# 9 MB and more do not fit the caches that the header expects; 16, 17 and 1040 bytes are whole sixteens, or are not
@pytest.mark.parametrize(("envs", "workers"), [(1, 1), (7, 2), (300, 2)])
@pytest.mark.parametrize(("total", "count"), [(9000, 1040), (9001, 1024), (9000, 1001), (40, 1040), (5, 16), (3, 17)])
def test_bytes_are_those_of_their_places(total: int, count: int, envs: int, workers: int) -> None:
    ring, places, expected = given("uint8", total, count)
    found = copied("uint8", ring, places, num_envs=envs, num_workers=workers)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(("total", "count"), [(9000, 260), (9000, 257), (40, 260), (3, 5)])
def test_floats_are_those_of_their_places(total: int, count: int) -> None:
    ring, places, expected = given("float32", total, count)
    assert np.array_equal(copied("float32", ring, places), expected)


@pytest.mark.parametrize(("finite", "expected"), [(0, [1.0, np.nan, np.inf, -np.inf]), (1, [1.0, 0.0, 0.0, 0.0])])
@pytest.mark.parametrize("total", [1, 140_000])
def test_numbers_that_are_not_finite_are_zeros_on_request(total: int, finite: int, expected: list[float]) -> None:
    ring = np.resize(np.array([1.0, np.nan, np.inf, -np.inf], np.float32), (1, 16))
    found = copied("float32", ring, np.zeros(total, np.int32), finite)
    assert np.array_equal(found, np.resize(np.float32(expected), (total, 16)), equal_nan=True)
