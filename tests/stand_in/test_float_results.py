"""Builds whose floats differ from the host's as a GPU's may: math functions by a last bit, and contracted sums."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

import warpworld
from tests.stand_in.conftest import Load
from tests.stand_in.test_driver import launch, pack
from warpworld.managers.cpu.host_compiler import find_compiler

pytestmark = pytest.mark.stand_in

OF_ONE = ("sinf", "cosf", "tanf", "tanhf", "expf", "logf", "log1pf", "rsqrtf", "__sinf", "__cosf", "__expf", "__logf")
OF_TWO = ("atan2f", "powf", "__powf", "__fdividef")
RESULTS = {
    **{name: f"{name}(x[i])" for name in (*OF_ONE, "sqrtf")},
    **{name: f"{name}(x[i], y[i])" for name in OF_TWO},
    "division": "x[i] / y[i]",
    "sum_of_product": "x[i] * y[i] + out[i]",
}
KERNELS = """
extern "C" __global__ void evaluations(const float* x, const float*, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int next = i;
  const float result = expf(x[next++]);
  out[i] = result > 0.0f ? next - i : 0;
}
"""
for name, result in RESULTS.items():
    KERNELS += f"""
extern "C" __global__ void of_{name}(const float* x, const float* y, float* out) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = {result};
}}
"""

NUM = 10_000
X = np.random.default_rng(1).uniform(0.1, 10.0, NUM).astype(np.float32)
Y = np.random.default_rng(2).uniform(0.1, 3.0, NUM).astype(np.float32)
MOVED = "--fmad=false -DSTAND_IN_LIBM_SEED=1"


def results(
    load_anew: Load, kernel: str, flags: str = "", x: np.ndarray = X, y: np.ndarray = Y, out: np.ndarray | None = None
) -> np.ndarray:
    """What a kernel makes of pairs of numbers."""
    out = np.zeros(NUM, np.float32) if out is None else out.copy()
    function = load_anew(KERNELS, *flags.split()).get_function(kernel)
    launch(function, pack("PPP", x.ctypes.data, y.ctypes.data, out.ctypes.data), grid=NUM // 100, block=100)
    return out


@pytest.fixture(scope="module")
def has_fma() -> bool:
    """Whether this machine multiplies and adds in one operation."""
    asked = [*find_compiler().command, "-march=native", "-dM", "-E", "-x", "c++", "/dev/null"]
    printed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return "__FMA__" in printed or "__ARM_FEATURE_FMA" in printed


@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_half_of_the_results_of_a_math_function_are_moved_by_an_ulp(name: str, load_anew: Load) -> None:
    exact, found, again = (results(load_anew, f"of_{name}", flags) for flags in ("", MOVED, MOVED))
    assert np.array_equal(found, again)
    moves = found.view(np.int32) - exact.view(np.int32)
    assert set(moves.tolist()) == {-1, 0, 1}
    assert 0.45 < (moves != 0).mean() < 0.55
    assert 0.2 < (moves == 1).mean() < 0.3


def test_another_seed_moves_other_results(load_anew: Load) -> None:
    first, second = (results(load_anew, "of_sinf", f"-DSTAND_IN_LIBM_SEED={seed}") for seed in (1, 2))
    assert 0.45 < (first != second).mean() < 0.75


@pytest.mark.parametrize("name", ["sqrtf", "division"])
def test_what_is_exact_on_a_gpu_is_not_moved(name: str, load_anew: Load) -> None:
    assert np.array_equal(results(load_anew, f"of_{name}"), results(load_anew, f"of_{name}", MOVED))


def test_results_that_are_defined_exactly_are_not_moved(load_anew: Load) -> None:
    zeros = np.zeros(NUM, np.float32)
    for name, expected in (("sinf", 0.0), ("cosf", 1.0), ("expf", 1.0), ("logf", -np.inf), ("powf", 0.0)):
        assert (results(load_anew, f"of_{name}", MOVED, x=zeros) == expected).all(), name


def test_arguments_are_evaluated_once(load_anew: Load) -> None:
    assert (results(load_anew, "evaluations", MOVED) == 1.0).all()


def test_products_and_sums_are_contracted_where_it_is_asked_for(load_anew: Load, has_fma: bool) -> None:
    if not has_fma:
        pytest.skip("this machine has no fused multiply-add")
    product = X * Y
    plain, contracted = (results(load_anew, "of_sum_of_product", flags, out=-product) for flags in ("", "--fmad=true"))
    assert not plain.any()
    assert np.array_equal(contracted, (X.astype(np.float64) * Y - product).astype(np.float32))
    assert (contracted != 0).mean() > 0.9


def test_builds_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = [stepped_pendulum()]
    for flags in (MOVED, ""):
        monkeypatch.setenv("WARPWORLD_NVCCFLAGS", flags)
        worlds.append(stepped_pendulum())
    first, moved, again = worlds
    assert np.array_equal(first, again)
    assert not np.array_equal(first, moved)
    assert np.allclose(first, moved, atol=1e-5)


def stepped_pendulum() -> np.ndarray:
    world = warpworld.make("pendulum", num_envs=100, seed=1)
    world.reset()
    world.step()
    observations: np.ndarray = world.data.numpy("observations").copy()
    return observations
