"""Kernels that take structs compile for GPUs without a warning, and cost what a plain list of parameters does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cuda.gpu_compilers import compile_for, compile_with_nvrtc, needs_nvcc, needs_nvrtc
from warpworld.managers.kernel_source import KernelSource, cuda_entry
from warpworld.managers.signature import read_signatures
from warpworld.managers.structs import with_structs

pytestmark = pytest.mark.cpu_backend  # of sources alone

DEFINITIONS = """
#include <half.cuh>

struct Weights { const float4* weights; unsigned char bits; };
struct Scene {
  float2 *x, *y;
  bool flag;
  const double scale;
  Weights first;
  const __half* halves;
  int count;

  WW_METHOD float4 weight(int i) const { return first.weights[i]; }
};
"""
BODY = """ {
  if (!is_active()) return;
  float sum = __half2float(HALVES[0]);
  for (int i = 0; i < COUNT; ++i) sum += WEIGHT(i).x * (float)BITS;
  Y[agent_index()] = make_float2(sum, X[agent_index()].x);
  rewards[agent_index()] = FLAG ? sum : (float)SCALE + (float)first;
}
"""
NAMES = ("x", "y", "flag", "scale", "weights", "bits", "halves", "count")
FLAT = (
    "int first, float2* x, float2* y, bool flag, const double scale, const float4* weights, unsigned char bits, "
    "const __half* halves, int count, float* rewards"
)


def source(folder: Path, parameters: str, **spelling: str) -> KernelSource:
    body = BODY
    for name, written in spelling.items():
        body = body.replace(name, written)
    path = folder / "kernels.cu"
    text = f'#include <warpworld.cuh>\n{DEFINITIONS}extern "C" __global__ void step({parameters}){body}'
    path.write_text(text)
    signatures = with_structs(read_signatures(path, text), lambda: {path: text})
    return KernelSource(path, text, {"NUM_AGENTS": 4}, tuple(signatures.values()), threads=(4,))


def with_struct(folder: Path) -> KernelSource:
    fields = {name.upper(): f"scene.{name}" for name in NAMES}
    fields |= {"BITS": "scene.first.bits", "WEIGHT(": "scene.weight("}
    return source(folder, "int first, Scene scene, float* rewards", **fields)


def flat(folder: Path) -> KernelSource:
    return source(
        folder, FLAT, **{name.upper(): name for name in NAMES if name != "weights"} | {"WEIGHT(i)": "weights[i]"}
    )


@pytest.mark.heavy
@needs_nvcc
@pytest.mark.long
def test_they_need_the_registers_of_a_plain_list(tmp_path: Path) -> None:
    architectures = (75, 90, 120)
    with_structs, plain = (compile_for(each(tmp_path), tmp_path, architectures) for each in (with_struct, flat))
    assert with_structs == plain
    assert {kernel for kernel, _ in plain} == {cuda_entry("step")}


@pytest.mark.long
@needs_nvrtc
def test_nvrtc_has_nothing_to_say(tmp_path: Path) -> None:
    compile_with_nvrtc(with_struct(tmp_path))


@needs_nvcc
def test_a_field_that_is_something_else_is_refused_by_nvcc(tmp_path: Path) -> None:
    made = with_struct(tmp_path)
    text = made.text.replace("bool flag;", "#define bool int\n  bool flag;\n#undef bool\n")
    path = tmp_path / "other.cu"
    other = KernelSource(path, text, made.constants, made.signatures, made.threads)
    with pytest.raises(AssertionError, match=r"warpworld-structs.*error.*static assertion failed .*fields of Scene"):
        compile_for(other, tmp_path, (90,))
