"""The stand-in nvcc: its command line is nvcc's, and the kernels it compiles mean what CUDA's mean."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.cuda.gpu_compilers import NVRTC, needs_nvrtc
from tests.stand_in.conftest import nvcc
from tests.stand_in.driver import HERE
from tests.stand_in.plugin import FRONT_END, REAL_NVCC, front_end
from tests.stand_in.test_driver import launch, pack

pytestmark = pytest.mark.stand_in


# ---- the command line -----------------------------------------------------------------------------------------------
def test_what_it_says_of_itself() -> None:
    printed = nvcc("--version").stdout
    assert re.search(r"release 13\.0, V13\.0\.88", printed)
    assert "stand-in" in printed
    assert {"sm_75", "sm_90", "sm_120"} <= set(nvcc("--list-gpu-code").stdout.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-cubin", "-arch=sm_61", "-o", "x"], r"^nvcc fatal   : Unsupported gpu architecture 'compute_61'$"),
        (["-cubin", "-arch=gtx", "-o", "x"], r"^nvcc fatal   : Value 'gtx' is not defined for option"),
        (["-ptx", "-arch=sm_90", "-o", "x"], r"^nvcc fatal   : the stand-in makes cubins only"),
        (["-cubin", "-arch=sm_90", "-o"], r"^nvcc fatal   : Missing argument for option '-o'$"),
    ],
)
def test_commands_that_are_refused(words: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("")
    result = nvcc(tmp_path / "a.cu", *words)
    assert result.returncode == 1
    assert re.search(message, result.stderr.strip())


def test_a_file_that_is_not_there() -> None:
    result = nvcc("-cubin", "-arch=sm_90", "-o", "x", "no_such.cu")
    assert (result.returncode, result.stderr.strip()) == (
        1,
        "nvcc fatal   : Cannot find source file 'no_such.cu'",
    )


def test_errors_are_written_as_nvcc_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REAL_NVCC, raising=False)
    path = tmp_path / "wrong.cu"
    path.write_text('extern "C" __global__ void step(float* x) {\n  x[0] = 1.0f\n}\n')
    result = nvcc("-cubin", "-arch=sm_90", "-o", tmp_path / "out", path)
    assert result.returncode == 2
    assert re.search(rf"^{re.escape(str(path))}\(2\): error: ", result.stderr, re.MULTILINE)
    assert f'1 error detected in the compilation of "{path}".' in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not os.environ.get(REAL_NVCC), reason="there is no real nvcc")
@pytest.mark.parametrize(
    ("before", "line", "message"),
    [
        ("#include <algorithm>", "x[0] = std::max(x[0], 1.0f);", "calling a constexpr __host__ function"),
        ("", "__shared__ float room[20000]; room[threadIdx.x] = x[0]; x[1] = room[5];", "too much shared data"),
    ],
    ids=["the front end", "ptxas"],
)
def test_what_the_host_takes_and_a_gpu_does_not_is_refused_in_the_real_one_s_words(
    before: str, line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, target = tmp_path / "of_the_host.cu", tmp_path / "out"
    path.write_text(f'{before}\nextern "C" __global__ void step(float* x) {{\n  {line}\n}}\n')
    result = nvcc("-cubin", "-arch=sm_90", "-O3", "-o", target, path)
    assert result.returncode != 0 and re.search(message, result.stderr)
    assert not target.exists()
    monkeypatch.delenv(REAL_NVCC)
    assert nvcc("-cubin", "-arch=sm_90", "-O3", "-o", target, path).returncode == 0


@needs_nvrtc
@pytest.mark.parametrize(
    ("before", "line", "asked"),
    [
        ("", 'if (x[0] > 1.0f) printf("%f", __shfl_xor_sync(0xFFFFFFFFu, x[1], 1));', False),
        ("", "__shared__ float room[8000]; room[threadIdx.x] = x[0]; x[1] = room[5];", False),
        ("", "__shared__ float room[12300]; room[threadIdx.x] = x[0]; x[1] = room[5];", True),
        ("__constant__ float table[20000];", "x[0] = table[threadIdx.x];", True),
        ("__device__ float elsewhere(float);", "x[0] = elsewhere(x[0]);", True),
        ("", 'asm("no such instruction;");', True),
        ("#include <algorithm>", "x[0] = std::max(x[0], 1.0f);", True),
    ],
    ids=["words", "some of a block's memory", "all of it", "constants", "a function elsewhere", "assembly", "a header"],
)
def test_the_real_one_is_asked_where_nvrtc_may_take_what_it_refuses(
    before: str, line: str, asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert NVRTC is not None
    real, path = tmp_path / "real", tmp_path / "step.cu"
    real.write_text("#!/bin/sh\necho refused >&2\nexit 3\n")
    real.chmod(0o755)
    monkeypatch.setenv(REAL_NVCC, str(real))
    monkeypatch.setenv(FRONT_END, front_end(NVRTC[2]))
    path.write_text(f'{before}\nextern "C" __global__ void step(float* x) {{\n  {line}\n}}\n')
    result = nvcc("-cubin", "-arch=sm_90", "-o", tmp_path / "out", path)
    assert ("refused" in result.stderr, result.returncode == 3) == (asked, asked)


def test_texts_that_differ_in_small_numbers_are_given_to_the_real_one_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, link, seen = tmp_path / "real", tmp_path / "nvcc", tmp_path / "seen"
    real.write_text(f'#!/bin/sh\necho x >> {seen}\nfor last; do :; done\ngrep -q refused "$last" && exit 1\nexit 0\n')
    real.chmod(0o755)
    link.symlink_to(HERE / "nvcc")
    monkeypatch.setenv(REAL_NVCC, str(real))
    monkeypatch.delenv(FRONT_END, raising=False)

    def times(line: str, bounds: str = "") -> tuple[int, int]:
        """What the stand-in returns for a kernel, and how often the real one was asked so far."""
        path = tmp_path / "step.cu"
        path.write_text(f'extern "C" __global__ void {bounds} step(float* x) {{\n  {line}\n}}\n')
        words = [str(link), "-cubin", "-arch=sm_90", "-o", str(tmp_path / "out"), str(path)]
        code = subprocess.run(words, capture_output=True, check=False).returncode
        return code, len(seen.read_text().splitlines())

    assert times("x[0] = 1.0f;  // refused") == (1, 1)
    assert times("x[0] = 1.0f;  // refused") == (1, 2)  # nothing is noted of what is refused
    assert times("x[0] = 1.0f;") == (0, 3)
    assert times("x[2] = 1.0f;") == (0, 3)
    assert times("x[20000] = 1.0f;") == (0, 4)
    assert times("x[0] = -1.0f;") == (0, 5)
    assert times("__shared__ float room[4]; room[0] = x[0];") == (0, 6)
    assert times("__shared__ float room[5]; room[0] = x[0];") == (0, 7)  # what a block has is limited
    assert times("x[0] = 1.0f;", "__launch_bounds__(1)") == (0, 8)
    assert times("x[0] = 1.0f;", "__launch_bounds__(256)") == (0, 8)
    assert times("x[0] = 1.0f;", "__launch_bounds__(257)") == (0, 9)  # whose registers are fewer
    assert times("x[0] = 1.0f;", "__launch_bounds__(1025)") == (0, 10)


# ---- kernels --------------------------------------------------------------------------------------------------------
def test_parameters_are_packed_as_cuda_packs_them(load: Any) -> None:
    text = """
struct big { double a; char b; float c[3]; };
extern "C" __global__ void __launch_bounds__(4) take(const __grid_constant__ big s, bool flag, char small, short two,
                                                     double* out, const float4 f, int last) {
  const double seen[] = {s.a, (double)s.b, s.c[2], (double)flag, (double)small, (double)two, f.w, (double)last};
  if (threadIdx.x == 3) for (int i = 0; i < 8; ++i) out[i] = seen[i];
}
"""
    out = np.zeros(8)
    parameters = struct.pack("<db3x3f", 0.25, 3, 1, 2, 5)  # big: 24 bytes
    parameters += struct.pack("<?bh4xQ8x", True, -7, 300, out.ctypes.data)  # a float4 lies at a multiple of 16
    parameters += struct.pack("<4fi", 0, 0, 0, 8, 99)
    launch(load(text).get_function("take"), parameters, block=4)
    assert out.tolist() == [0.25, 3.0, 5.0, 1.0, -7.0, 300.0, 8.0, 99.0]


def test_kernels_are_found_wherever_they_stand(load: Any, tmp_path: Path) -> None:
    (tmp_path / "more.cuh").write_text('extern "C" __global__ void from_header(int* x) { x[0] = 1; }\n')
    text = """
#include "more.cuh"
#define KERNEL(name, value) extern "C" __global__ void name(int* x) { x[0] = value; }
KERNEL(from_macro, 2)
#if 0
extern "C" __global__ void left_out(int* x) { no such thing }
#endif
// extern "C" __global__ void in_a_comment(int* x) {}
extern "C" void __global__
    on_two_lines(int* x) { x[0] = 3; }
"""
    module, x = load(text), torch.zeros(1, dtype=torch.int32)
    for i, name in enumerate(("from_header", "from_macro", "on_two_lines"), 1):
        launch(module.get_function(name), pack("P", x.data_ptr()))
        assert x.item() == i


def test_blocks_of_two_sizes_with_shared_memory(load: Any) -> None:
    text = """
template <int n> __device__ void reverse(int* x) {
  __shared__ int cells[n];
  const int i = blockIdx.x * n + threadIdx.x;
  cells[threadIdx.x] = x[i];
  __syncthreads();
  x[i] = cells[n - 1 - threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(5) few(int* x) { reverse<5>(x); }
extern "C" __global__ void __launch_bounds__(1024) many(int* x) { reverse<1024>(x); }
"""
    module = load(text)
    for name, threads in (("few", 5), ("many", 1024)):
        x = torch.arange(3 * threads, dtype=torch.int32)
        launch(module.get_function(name), pack("P", x.data_ptr()), grid=3, block=threads)
        assert torch.equal(x.view(3, -1), torch.arange(3 * threads, dtype=torch.int32).view(3, -1).flip(1))


def test_warps(load: Any) -> None:
    text = """
extern "C" __global__ void sums(const int* x, int* y) {
  int sum = x[threadIdx.x];
  for (int far = 16; far; far /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, far);
  const unsigned half = threadIdx.x % 32 < 16 ? 0xFFFFu : 0xFFFF0000u;
  __syncwarp(half);
  y[threadIdx.x] = sum;
}
"""
    x, y = torch.arange(96, dtype=torch.int32), torch.zeros(96, dtype=torch.int32)
    launch(load(text).get_function("sums"), pack("PP", x.data_ptr(), y.data_ptr()), block=96)
    assert torch.equal(y.view(3, 32), x.view(3, 32).sum(1, dtype=torch.int32)[:, None].expand(3, 32))
