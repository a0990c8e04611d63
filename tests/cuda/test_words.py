"""CUDA's functions, chapter by chapter: what a CPU makes of them, and that nvcc knows them."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.cuda.gpu_compilers import NVCC, needs_nvcc, nvcc_release
from tests.cuda.kernel_worlds import kernel_world, run
from tests.cuda.quick_nvcc import quick_flags
from tests.cuda.words import arithmetic, casts, integers, mathematics, simd, sixteen
from tests.cuda.words.rounding import FORMATS, quantum, rounded
from tests.cuda.words.word import SAMPLES, Word, as_numbers, kernel_text, packed, samples, unpacked
from warpworld import Array, Kernel

# chapter of the reference -> its words, and the headers that they need
CHAPTERS: dict[str, tuple[Sequence[Word], Sequence[str]]] = {
    "integers": (integers.WORDS, ()),
    "casts": (casts.WORDS, ()),
    "arithmetic": (arithmetic.WORDS, ()),
    "single": (mathematics.SINGLE, ()),
    "double": (mathematics.DOUBLE, ()),
    "simd": (simd.WORDS, ()),
    "half": (sixteen.HALF, ["cuda_fp16.h"]),
    "bfloat16": (sixteen.BFLOAT16, ["cuda_bf16.h"]),
}


@pytest.mark.cpu_backend
@pytest.mark.heavy
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_values(chapter: str, tmp_path: Path) -> None:
    words, headers = CHAPTERS[chapter]
    source = tmp_path / f"{chapter}.cu"
    source.write_text(kernel_text(words, headers))
    columns = [samples(each, seed) for seed, each in enumerate(words)]
    arrays = [Array(name, "uint64", (len(words), SAMPLES, 4), per="world") for name in ("given", "found")]
    given = np.stack([packed(each) for each in columns])
    kernel = Kernel("apply", own_env_only=False)
    (found,) = run(kernel_world(source, kernel, arrays, 1, 1, values={"given": given}), "found")
    wrong = [
        line for i, each in enumerate(words) for line in differences(each, columns[i], found.reshape(given.shape)[i])
    ]
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:25])


def differences(each: Word, columns: list[np.ndarray], found: np.ndarray) -> list[str]:
    """A line for each sample that is not as the oracle says, the first of the word."""
    given = [as_numbers(kind, column) for kind, column in zip(each.arguments, columns, strict=True)]
    got = [as_numbers(kind, unpacked(found, kind, i)) for i, kind in enumerate(each.results)]
    for arguments, results in zip(zip(*given, strict=True), zip(*got, strict=True), strict=True):
        expected = each.oracle(*arguments)
        for kind, result, meant in zip(
            each.results, results, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            if not agrees(kind, result, meant, each.ulp):
                return [f"{each.name}{arguments} is {result!r}, not {meant!r}"]
    return []


def agrees(kind: str, result: Any, meant: Any, ulp: float) -> bool:
    """Whether a result is the exact one, or a float within so many units in the last place of it."""
    if kind not in FORMATS:
        return bool(result == meant)
    if isinstance(meant, mpmath.mpf):
        meant = arithmetic.fraction(meant) if mpmath.isfinite(meant) else float(meant)
    if isinstance(meant, float) and not math.isfinite(meant):
        return math.isnan(result) if math.isnan(meant) else bool(result == meant)
    nearest = rounded(Fraction(meant), kind)
    if not math.isfinite(result) or not math.isfinite(nearest) or ulp == 0:
        return bool(result == nearest)
    return bool(abs(Fraction(result) - Fraction(meant)) <= Fraction(ulp) * quantum(Fraction(meant), kind))


@needs_nvcc
@pytest.mark.heavy
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_nvcc_s_verdict(chapter: str, tmp_path: Path) -> None:
    words, headers = CHAPTERS[chapter]
    assert nvcc_log(kernel_text(words, headers), tmp_path) == ""


def nvcc_log(text: str, folder: Path) -> str:
    """What nvcc prints of a file for an H100; nothing if it compiles."""
    assert NVCC is not None
    source = folder / "words.cu"
    source.write_text(text)
    flags = ["-cubin", "-arch=sm_90", "-std=c++17", "-w", *quick_flags(nvcc_release())]
    command = [NVCC, *flags, str(source), "-o", str(folder / "words.cubin")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout + result.stderr
