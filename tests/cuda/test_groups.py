"""Warp-wide and cooperative operations, and cuRAND's Philox, beside the same in Python."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

from tests.cuda.kernel_worlds import kernel_world, run
from warpworld import Array

NUM_ENVS, NUM_AGENTS = 3, 20


def expected_of(values: list[int], t: int) -> list[int]:
    """What thread ``t`` of groups.cu finds, of the values of its block."""
    first = t // 4 * 4
    tile = values[first : first + 4]
    same = sum(1 << i for i, value in enumerate(values) if value == values[t])
    everywhere = len(set(values)) == 1
    return [
        *(same, (1 << NUM_AGENTS) - 1 if everywhere else 0, everywhere),
        *(sum(values), min(values), max(values), reduce(lambda a, b: a ^ b, values)),
        *(sum(value > 2 for value in values), 2),
        *(sum(tile), sum(1 << i for i, value in enumerate(tile) if value > 2)),
        tile[3] * 100 + tile[t % 4 ^ 1] * 10 + tile[min(t % 4 + 1, 3)],
        *(t % 4 * 100 + t // 4, (3 in tile) * 10 + (max(tile) < 5), t * 100 + NUM_AGENTS),
        max(tile) * 10 + min(tile),
    ]


@pytest.mark.long
def test_warps_and_groups() -> None:
    given = np.random.default_rng(0).integers(0, 6, (NUM_ENVS, NUM_AGENTS), dtype=np.int32)
    given[2] = 4
    arrays = [Array("given", "int32"), Array("found", "int32", (16,))]
    (found,) = run(kernel_world("groups.cu", "gather", arrays, NUM_AGENTS, NUM_ENVS, values={"given": given}), "found")
    for env, values in enumerate(given.tolist()):
        for t in range(NUM_AGENTS):
            assert found[env, t].tolist() == expected_of(values, t)


# ---- Philox ---------------------------------------------------------------------------------------------------------
def philox(counter: int, key: int) -> list[int]:
    """Four words of a counter of 128 bits (Salmon et al. 2011)."""
    c = [counter >> 32 * i & 0xFFFFFFFF for i in range(4)]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k[0], second & 0xFFFFFFFF, first >> 32 ^ c[3] ^ k[1], first & 0xFFFFFFFF]
        k = [k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return c


def word(seed: int, subsequence: int, place: int) -> int:
    return philox(subsequence << 64 | place >> 2, seed)[place & 3]


SEEDS = [(0, 0, 0), (0x123456789ABCDEF, 7, 5), (2**64 - 1, 2**40, 2**34 + 3), (42, 1, 2)]


def test_known_answers() -> None:
    """Those that were published with the generator."""
    assert philox(0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox(2**128 - 1, 2**64 - 1) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.cpu_backend  # a GPU's curand_kernel.h comes with the toolkit, and compilers from pip have none
@pytest.mark.long
def test_philox() -> None:
    arrays = [
        *(Array("seeds", "uint64", (3,)), Array("words", "uint32", (12,)), Array("floats", "float32", (8,))),
        Array("doubles", "float64", (4,)),
    ]
    values = {"seeds": np.array(SEEDS, np.uint64)[None]}
    world = kernel_world("philox.cu", "draw", arrays, len(SEEDS), 1, values=values)
    words, floats, doubles = run(world, "words", "floats", "doubles")
    for i, (seed, sequence, offset) in enumerate(SEEDS):

        def bits(place: int, more: int = 0, seed: int = seed, sequence: int = sequence, offset: int = offset) -> int:
            return word(seed, sequence + more, offset + place)

        assert words[0, i].tolist() == [*map(bits, range(9)), bits(15), bits(16, 3), bits(17, 3)]
        uniform = [(bits(place) + 0.5) / 2**32 for place in (0, 1, 4)]
        pairs = [(bits(place) + 0.5, bits(place + 1) + 0.5) for place in (0, 2, 4, 6)]
        normal = [z for a, b in pairs for z in box_muller(a / 2**32, 2 * np.pi * b / 2**32)]
        chosen = [*uniform, *normal[:3], normal[5], np.exp(0.5 + 0.1 * normal[6])]
        np.testing.assert_allclose(floats[0, i], chosen, rtol=1e-4, atol=1e-5)
        both = [bits(place) ^ bits(place + 1) << 21 for place in (1, 3, 7)]
        wide = box_muller((both[0] + 0.5) / 2**53, np.pi * (2 * both[1] + 1) / 2**53)
        np.testing.assert_allclose(doubles[0, i, 0], (bits(0) + 1) / 2**32, rtol=1e-15)
        np.testing.assert_allclose(doubles[0, i, 1:], [*wide, (both[2] + 0.5) / 2**53], rtol=1e-13)


def box_muller(u: float, angle: float) -> tuple[float, float]:
    size = np.sqrt(-2 * np.log(u))
    return float(size * np.sin(angle)), float(size * np.cos(angle))
