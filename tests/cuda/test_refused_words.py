"""Words of CUDA's that are no functions of numbers; and what a CPU refuses, by name and with the reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cuda.gpu_compilers import needs_nvcc
from tests.cuda.kernel_worlds import kernel_world
from tests.cuda.test_words import nvcc_log
from tests.cuda.words.statements import REFUSED, STATEMENTS, text
from warpworld import Array, Kernel
from warpworld.errors import BuildError
from warpworld.managers.cpu.refused_words import of_word

GROUPS = ["cooperative_groups.h"]
TYPES = {"i": "int32", "u": "uint32", "l": "uint64", "f": "float32", "d": "float64"}
STEP = 'extern "C" __global__ void step(float* x) {{ {} }}\n'


def build(source: Path, kernel: str = "apply") -> None:
    arrays = [Array(name, dtype, (4,), per="world") for name, dtype in TYPES.items()]
    arrays.append(Array("x", "float32"))
    kernel_world(source, Kernel(kernel, own_env_only=False), arrays, 8, 1)


def refusal(folder: Path, written: str) -> str:
    source = folder / "refused.cu"
    source.write_text(written)
    with pytest.raises(BuildError) as raised:
        build(source, "step")
    return str(raised.value)


@pytest.mark.cpu_backend
@pytest.mark.long
@pytest.mark.parametrize("chapter", STATEMENTS)
def test_statements(chapter: str, tmp_path: Path) -> None:
    headers, statements = STATEMENTS[chapter]
    source = tmp_path / "statements.cu"
    source.write_text(text(statements, headers))
    build(source)


@needs_nvcc
@pytest.mark.heavy
@pytest.mark.parametrize("chapter", STATEMENTS)
def test_nvcc_s_verdict_of_statements(chapter: str, tmp_path: Path) -> None:
    headers, statements = STATEMENTS[chapter]
    assert nvcc_log(text(statements, headers), tmp_path) == ""


@needs_nvcc
@pytest.mark.heavy
def test_what_is_refused_is_cuda_s(tmp_path: Path) -> None:
    assert nvcc_log(text(list(REFUSED), GROUPS), tmp_path) == ""


@pytest.mark.cpu_backend
@pytest.mark.long
def test_each_refused_word_is_an_error_of_its_line(tmp_path: Path) -> None:
    source = tmp_path / "refused.cu"
    source.write_text(text(list(REFUSED), GROUPS))
    with pytest.raises(BuildError) as raised:
        build(source)
    lines = {int(line) for line in re.findall(r"refused\.cu:(\d+):\d+: error: ", raised.value.log)}
    assert lines == {101 + i for i in range(len(REFUSED))}


@pytest.mark.parametrize(("word", "reason"), REFUSED.values())
def test_reasons(word: str, reason: str) -> None:
    assert reason in of_word(word)


@pytest.mark.cpu_backend
@pytest.mark.parametrize(
    ("before", "statement", "message"),
    [
        (
            "",
            "x[0] = __activemask();",
            r"refused\.cu:1:\d+: .*; which lanes the hardware runs together is not defined on a CPU",
        ),
        ("#include <mma.h>\n", "", r"refused\.cu:1:\d+: mma\.h: .*; a CPU has no tensor cores .*#ifdef __CUDACC__"),
        ("#include <cub/cub.cuh>\n", "", r"cub/cub\.cuh: .*; CUDA's C\+\+ libraries are not on a CPU"),
        ("#include <cuda_fp17.h>\n", "", r"nor a header of warpworld's or CUDA's\. Did you mean 'cuda_fp16\.h'\?"),
        (
            "#include <curand_kernel.h>\n",
            "curandState s;",
            r"of cuRAND a CPU has Philox4x32-10: curandStatePhilox4_32_10_t",
        ),
        (
            "",
            'asm volatile("mov.u32 %0, %%laneid;" : "=r"(*(unsigned*)x));',
            r"refused\.cu:1: asm holds the instructions of a GPU",
        ),
        ("void host() {\n  step<<<1, 1>>>(0);\n}\n", "", r"refused\.cu:2:\d+: .*kernels are launched by the world"),
        (
            "",
            "cudaDeviceSynchronize();",
            "CUDA's API for the host is not on a CPU: memory, streams and launches are the world's",
        ),
        ("", "x[0] = __shfl(x[0], 1);", "use the word with `_sync` and a mask"),
        (
            "",
            "x[0] = __sqrtf(x[0]);",
            r"refused\.cu:1: '__sqrtf' is declared and not defined: it is a name of the C library's own",
        ),
        (
            "__device__ float helper(float);\n",
            "x[0] = helper(1);",
            r"refused\.cu:1: 'helper' is declared and not defined: define it",
        ),
    ],
)
def test_messages(before: str, statement: str, message: str, tmp_path: Path) -> None:
    said = refusal(tmp_path, before + STEP.format(statement))
    assert re.search(message, said), said
    assert "remove the file" not in said
