"""Numbers of 16 bits on a CPU: as NumPy's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toys import HEADER, agents, environment

from warpworld import Array, World

FOLDER = Path(__file__).parent
NUMBERS = 2**16


def converted(floats: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a kernel makes of floats and of halves, ``NUMBERS`` of each an env."""
    envs = max(len(floats), len(halves)) // NUMBERS
    shape = (envs, NUMBERS)
    arrays = [
        Array("floats", "float32", (NUMBERS,), per="env", initial=np.resize(floats, shape), on_reset="keep"),
        Array("halves", "float16", (NUMBERS,), per="env"),
        Array("given", "float16", (NUMBERS,), per="env", initial=np.resize(halves, shape), on_reset="keep"),
        Array("back", "float32", (NUMBERS,), per="env"),
    ]
    declared = environment(
        FOLDER / "halves.cu", arrays, [agents(1)], {"numbers": NUMBERS}, ["convert"], (), compile_time=("numbers",)
    )
    world = World(declared, envs)
    world.reset()
    world.step()
    return world["halves"].cpu().numpy().reshape(-1), world["back"].cpu().numpy().reshape(-1)


def same(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Equal to the bit, and NaN where there is NaN."""
    numbers = ~np.isnan(expected)
    bits = f"u{found.itemsize}"
    return np.where(numbers, found.view(bits) == expected.view(bits), np.isnan(found))


def test_halves_become_floats_exactly() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    _, back = converted(np.zeros(NUMBERS, np.float32), halves)
    assert same(back, halves.astype(np.float32)).all()


def test_floats_become_the_nearest_halves() -> None:
    """Any bits; and between each half and the next one the middle, and the floats beside that."""
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(over="ignore", invalid="ignore"):
        middles = np.float32(0.5) * (halves.astype(np.float32) + np.nextafter(halves, np.float16(np.inf)))
    ties = middles[np.isfinite(middles)]
    chosen = np.concatenate([ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)]).astype(np.float32)
    chosen = np.concatenate([chosen, np.float32([65519.996, 65520, 65536, 1e9, np.inf, -np.inf, np.nan, 2**-25, -0.0])])
    anything = np.random.default_rng(0).integers(0, 2**32, 6 * NUMBERS, dtype=np.uint32).view(np.float32)
    floats = np.resize(np.concatenate([chosen, anything]), 10 * NUMBERS)
    found, _ = converted(floats, halves)
    with np.errstate(over="ignore", invalid="ignore"):
        assert same(found, floats.astype(np.float16)).all()


def test_cuda_s_own_words(tmp_path: Path) -> None:
    """``half``, and going to and fro without a word."""
    source = tmp_path / "words.cu"
    source.write_text(
        f"{HEADER}#include <half.cuh>\n"
        'extern "C" __global__ void step(half* h, float* x) {\n'
        "  if (!is_active()) return;\n"
        "  h[agent_index()] = 0.1f;\n"
        "  x[agent_index()] = (float)h[agent_index()] * 2.0f;\n"
        "}\n"
    )
    world = World(environment(source, [Array("h", "float16"), Array("x", "float32")], resets=()), 1)
    world.reset()
    world.step()
    assert world["x"].cpu().numpy() == pytest.approx(2.0 * np.float32(np.float16(0.1)), abs=0)
