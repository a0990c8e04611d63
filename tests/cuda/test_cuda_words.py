"""CUDA's own words on the host: atomics, overloads of min and max, vector types, intrinsics."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cuda.kernel_worlds import kernel_world, run
from warpworld import Array, Kernel

NUM_ENVS, NUM_AGENTS = 97, 20
COUNT = NUM_ENVS * NUM_AGENTS
WORKERS = [1, 3]


def shared_words(kernel: str, workers: int, **values: list[float]) -> dict[str, np.ndarray]:
    """What a kernel of atomics.cu makes of words that all envs share: ``values`` are what is in them before."""
    dtypes = {"i": "int32", "u": "uint32", "l": "uint64", "f": "float32", "d": "float64"}
    arrays = [Array(name, dtypes[name], (len(value),), per="world") for name, value in values.items()]
    if kernel in ("add", "exchange"):
        arrays.append(Array("tickets", "int32"))
    kernel_all = Kernel(kernel, own_env_only=False)
    world = kernel_world("atomics.cu", kernel_all, arrays, NUM_AGENTS, NUM_ENVS, workers, values)
    names = [array.name for array in arrays]
    return dict(zip(names, run(world, *names), strict=True))


@pytest.mark.parametrize("workers", WORKERS)
def test_sums(workers: int) -> None:
    got = shared_words("add", workers, i=[0, 0], u=[5], l=[0], f=[0], d=[0])
    assert got["i"].tolist() == [COUNT, -(COUNT - 1) * COUNT // 2]
    assert got["u"].tolist() == [5 + 3 * COUNT]
    assert got["l"].tolist() == [(COUNT - 1) * COUNT // 2 << 32]
    assert (got["f"].item(), got["d"].item()) == (COUNT, COUNT / 2)
    assert sorted(got["tickets"].flat) == list(range(COUNT))


@pytest.mark.parametrize("workers", WORKERS)
def test_extremes(workers: int) -> None:
    scrambled = (np.arange(COUNT) * 7919 + 13) % 10007 - 5000
    got = shared_words("compare", workers, i=[10**6, -(10**6)], u=[2**32 - 1], l=[0], f=[0])
    assert got["i"].tolist() == [scrambled.min(), scrambled.max()]
    assert got["u"].item() == scrambled[scrambled >= 0].min()
    assert got["l"].item() == int(scrambled.max() + 5000) << 40
    assert got["f"].item() == scrambled.max()


@pytest.mark.parametrize("workers", WORKERS)
def test_bits(workers: int) -> None:
    got = shared_words("bits", workers, u=[1 << 30, 2**32 - 1, 0], l=[0])
    assert got["u"].tolist() == [(1 << 30) + 2**20 - 1, 2**32 - 2**20, np.bitwise_xor.reduce(np.arange(COUNT))]
    assert got["l"].item() == 2**50 - 1


@pytest.mark.parametrize("workers", WORKERS)
def test_exchanges_and_wrapping_counters(workers: int) -> None:
    got = shared_words("exchange", workers, u=[0, 0, 100])
    assert sorted([*got["tickets"].flat, int(got["u"][0])]) == list(range(COUNT + 1))
    assert got["u"][1] == COUNT % 10
    assert got["u"][2] == 6 - (COUNT - 1) % 7


@pytest.mark.parametrize("workers", WORKERS)
def test_shared_counters(workers: int) -> None:
    whole = np.random.default_rng(0).integers(0, 100, (NUM_ENVS, NUM_AGENTS), dtype=np.int32)
    arrays = [Array("whole", "int32"), Array("counts", "int32", (4,), per="env")]
    world = kernel_world("atomics.cu", "histogram", arrays, NUM_AGENTS, NUM_ENVS, workers, {"whole": whole})
    (counts,) = run(world, "counts")
    assert np.array_equal(counts, np.stack([(whole % 4 == k).sum(axis=1) for k in range(4)], axis=1))


def test_min_and_max_of_every_pair_of_types() -> None:
    arrays = [Array("y", "float64", (15,)), Array("types", "bool", (3,))]
    y, types = run(kernel_world("cuda_words.cu", "overloads", arrays, 1, 1), "y", "types")
    whole = [-3, -3, 2, 2**32 - 3]
    floats = [1.5, 2.5, 1.25, 2.5]
    wide = [-(2.0**40), 9, 7]
    assert y.ravel().tolist() == [*whole, *floats, *wide, 3, 4, 2.5, 3]
    assert types.all()


def test_vector_types() -> None:
    random = np.random.default_rng(1)
    points = random.random((3, 4, 2), dtype=np.float32)
    boxes = random.integers(-9, 9, (3, 4, 4), dtype=np.int32)
    arrays = [
        *(Array("points", "float32", (2,)), Array("boxes", "int32", (4,)), Array("sums", "float64", (2,))),
        *(Array("crossed", "float32", (3,)), Array("sizes", "int32", (6,))),
    ]
    world = kernel_world("cuda_words.cu", "vectors", arrays, 4, 3, values={"points": points, "boxes": boxes})
    sums, crossed, sizes = run(world, "sums", "crossed", "sizes")
    assert np.array_equal(sums, points.astype(np.float64) + boxes[..., [0, 3]])
    with_one = np.concatenate([points, np.ones((3, 4, 1), np.float32)], axis=-1)
    np.testing.assert_allclose(crossed, np.cross(with_one, boxes[..., :3]), rtol=1e-5, atol=1e-5)
    assert (sizes == [12, 8, 16, 16, 16, 42]).all()


def test_intrinsics() -> None:
    x = np.random.default_rng(2).random((3, 4), dtype=np.float32) + np.float32(0.6)
    arrays = [Array("x", "float32"), Array("y", "float32", (8,)), Array("whole", "int32", (10,))]
    y, whole = run(kernel_world("cuda_words.cu", "numbers", arrays, 4, 3, values={"x": x}), "y", "whole")
    wide = x.astype(np.float64)
    expected = [wide**-0.5, 1 / wide, np.clip(wide - 1, 0, 1), wide * wide - 1]
    expected += [np.sin(np.pi * wide), np.cos(np.pi * wide), wide, 6 + wide]
    np.testing.assert_allclose(y, np.stack(expected, axis=-1), rtol=1e-5, atol=1e-6)
    bits = [int(b) for b in x.view(np.uint32).flat]
    counts = [[b.bit_count(), 32 - b.bit_length(), (b & -b).bit_length(), b * 3 >> 2, 32, 0, 42] for b in bits]
    for row, b in zip(counts, bits, strict=True):
        row += [b.bit_count(), 44 - b.bit_length(), (b & -b).bit_length() + 20]
    assert np.array_equal(whole.reshape(-1, 10), np.array(counts, np.uint32).view(np.int32))


@pytest.mark.cpu_backend
def test_the_c_plus_plus_library_beside_them() -> None:
    x = np.random.default_rng(3).random((3, 4), dtype=np.float32)
    arrays = [Array("x", "float32"), Array("y", "float32", (3,))]
    (y,) = run(kernel_world("library.cu", "extremes", arrays, 4, 3, values={"x": x}), "y")
    above = np.maximum(x, np.float32(0.25))
    assert np.array_equal(y, np.stack([above, above, x], axis=-1))
