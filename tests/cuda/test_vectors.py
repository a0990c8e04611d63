"""Envs that run side by side, in vectors: bits of each env alone, sines beside float64, atomics, and faults."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.cuda.kernel_worlds import kernel_world
from warpworld import Array, World
from warpworld.errors import KernelError

ARRAYS = [
    *(Array(name, "float32", initial=0.0) for name in ("x", "sine", "cosine")),
    *(Array(name, "int32", per="world", initial=0) for name in ("offset", "count")),
]
NUM_ENVS = 4096


def world_of(num_envs: int, kernel: str = "step", workers: int = 1) -> World:
    return kernel_world("vectors.cu", kernel, ARRAYS, 1, num_envs, workers)


def numbers() -> np.ndarray:
    """Floats of every exponent and sign, and small angles."""
    generator = np.random.default_rng(7)
    bits = generator.integers(0, 1 << 32, NUM_ENVS, dtype=np.uint32).view(np.float32)
    return np.where(np.arange(NUM_ENVS) % 2 == 0, bits, generator.uniform(-99, 99, NUM_ENVS)).astype(np.float32)


def results(x: np.ndarray, workers: int = 1, offset: int = 0) -> tuple[np.ndarray, np.ndarray, int]:
    world = world_of(len(x), workers=workers)
    world["x"], world["offset"] = x[:, None], offset
    world.step()
    sine, cosine = (world[name].cpu().numpy()[:, 0] for name in ("sine", "cosine"))
    return sine, cosine, int(world["count"])


@pytest.mark.cpu_backend
def test_sines_are_rounded_from_float64() -> None:
    x = numbers()
    finite = np.isfinite(x)
    for found, function in zip(results(x)[:2], (np.sin, np.cos), strict=True):
        meant = function(x[finite].astype(np.float64))
        last_place = np.spacing(np.abs(meant).astype(np.float32)).astype(np.float64)
        error = np.abs(found[finite] - meant) / last_place
        assert error[np.abs(x[finite]) < 2**25].max() < 0.51
        assert error.max() < 2
        assert np.isnan(found[~finite]).all()


@pytest.mark.cpu_backend
def test_zeros_keep_their_sign() -> None:
    sine, cosine, _ = results(np.repeat(np.float32([0.0, -0.0]), 64))
    assert np.array_equal(np.signbit(sine), np.repeat([False, True], 64))
    assert (sine == 0).all()
    assert (cosine == 1).all()


@pytest.mark.cpu_backend
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("num_envs", [1, 7, 63, 64, 100])
def test_an_env_s_bits_are_those_of_any_vector(num_envs: int, workers: int) -> None:
    x = numbers()
    whole = results(x)[:2]
    for found, meant in zip(results(x[:num_envs], workers)[:2], whole, strict=True):
        assert np.array_equal(found.view(np.uint32), meant[:num_envs].view(np.uint32))


@pytest.mark.cpu_backend
@pytest.mark.parametrize("workers", [1, 2])
def test_every_env_counts(workers: int) -> None:
    assert results(numbers(), workers, offset=-1)[2] == NUM_ENVS


@pytest.mark.cpu_backend
def test_a_fault_names_a_group_of_envs() -> None:
    world = world_of(500, "follow")
    world["offset"] = 1 << 10
    with pytest.raises(KernelError) as caught:
        world.step()
    said = str(caught.value)
    assert "kernel 'follow', env 64, agent 0: invalid memory access" in said
    assert re.search(r"or in one of the 63 envs behind it; WARPWORLD_DEBUG=1 finds it", said)
