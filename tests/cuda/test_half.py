"""Numbers of 16 bits on a CPU: as NumPy's."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.toys import agents, environment
from warpworld import Array, World
from warpworld.errors import BuildError

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


def test_cuda_s_own_words() -> None:
    """``half``, and going to and fro without a word; test_nvcc_package.py compiles the same with CUDA's header."""
    arrays = [
        Array("h", "float16", (6,)),
        Array("whole", "int32", initial=[[3000, -3001]], on_reset="keep"),
        Array("x", "float32"),
    ]
    params = {"numbers": 1}
    world = World(environment(FOLDER / "halves.cu", arrays, None, params, ["words"], (), ("numbers",)), 1)
    world.reset()
    world.step()
    tenth = np.float16(0.1)
    expected = [[tenth, tenth, 3000, 200, np.inf, tenth], [tenth, tenth, -3000, 200, np.inf, -3000]]  # -3001 is a tie
    assert world["h"].cpu().numpy()[0].tolist() == expected
    assert world["x"].cpu().numpy()[0] == pytest.approx([4 * float(tenth), 2 * float(tenth) - 6000], rel=1e-6)


REFUSED = [
    *(f"x[0] = h {sign} 1.0f" for sign in "+-*/"),
    *(f"x[0] = 2 {sign} h" for sign in "+-*/"),
    *(f"x[0] = h {sign} 0.0f" for sign in ("==", "!=", "<", ">", "<=", ">=")),
]


def refusal(tmp_path: Path, statements: list[str]) -> BuildError:
    """What is said of a kernel with these statements, each in a line of its own from the sixth on."""
    source = tmp_path / "reckons.cu"
    lines = [
        "#include <half.cuh>",
        'extern "C" __global__ void step(float* x) {',
        "  if (!is_active()) return;",
        "  half h = x[0];",
        "  half g = x[1];",
        *(f"  {statement};" for statement in statements),
        "}",
    ]
    source.write_text("\n".join(lines))
    with pytest.raises(BuildError) as raised:
        World(environment(source, [Array("x", "float32")], resets=()), 1).reset()
    return raised.value


@pytest.mark.cpu_backend
def test_a_half_and_another_number_are_refused(tmp_path: Path) -> None:
    """CUDA refuses them too, since either could be converted: each line by itself is an error."""
    error = refusal(tmp_path, REFUSED)
    refused = {int(line) for line in re.findall(r"reckons\.cu:(\d+):\d+: error: ", error.log)}
    assert refused == set(range(6, 6 + len(REFUSED)))


@pytest.mark.cpu_backend
def test_the_refusal_says_what_to_write(tmp_path: Path) -> None:
    said = (
        rf"^{tmp_path}/reckons.cu:6:.*ambiguous.*; the result of a 16-bit float and another number could be either: "
        r"convert one of the two\n"
    )
    assert re.search(said, str(refusal(tmp_path, ["x[0] = h * 2.0f"])))


@pytest.mark.cpu_backend
@pytest.mark.parametrize("word", ["__half", "half", "__half2"])
def test_the_refusal_names_the_header_that_is_missing(tmp_path: Path, word: str) -> None:
    source = tmp_path / "lacks.cu"
    source.write_text(f'extern "C" __global__ void step({word}* h) {{}}\n')
    with pytest.raises(BuildError) as raised:
        World(environment(source, [Array("h", "float16", (2,))], resets=()), 1).reset()
    first = str(raised.value).splitlines()[0]
    assert first.startswith(f"{source}:1:") and "; write `#include <half.cuh>` above for numbers of 16 bits" in first
