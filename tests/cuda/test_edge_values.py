"""CUDA's functions at special arguments: what a CPU makes of them is what CUDA's reference states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.cuda.gpu_compilers import needs_nvcc
from tests.cuda.kernel_worlds import kernel_world, run
from tests.cuda.test_words import nvcc_log
from tests.cuda.words import crossed, edges, sixteen
from tests.cuda.words.edge_word import EdgeWord
from tests.cuda.words.word import SAMPLES, as_numbers, kernel_text, packed, unpacked
from warpworld import Array, Kernel

# What makes the words of a chapter, and the headers that they need.
CHAPTERS: dict[str, tuple[Callable[[], Sequence[EdgeWord]], Sequence[str]]] = {
    "whole": (crossed.whole, ()),
    "conversions": (crossed.conversions, ()),
    "rounded arithmetic": (crossed.rounded_arithmetic, ()),
    "float": (lambda: edges.FLOAT, ()),
    "double": (lambda: edges.DOUBLE, ()),
    "half": (lambda: [*edges.HALF, *crossed.of_sixteen_bits(sixteen.HALF)], ["cuda_fp16.h"]),
    "bfloat16": (lambda: [*edges.BFLOAT16, *crossed.of_sixteen_bits(sixteen.BFLOAT16)], ["cuda_bf16.h"]),
}


@pytest.mark.cpu_backend
@pytest.mark.heavy
@pytest.mark.long
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_stated_results(chapter: str, tmp_path: Path) -> None:
    make_words, headers = CHAPTERS[chapter]
    rows = make_words()
    assert all(len(each.cases) <= SAMPLES for each in rows)
    source = tmp_path / "words.cu"
    source.write_text(kernel_text([each.word for each in rows], headers))
    given = np.stack([packed(each.columns(SAMPLES)) for each in rows])
    arrays = [Array(name, "uint64", given.shape, per="world") for name in ("given", "found")]
    kernel = Kernel("apply", own_env_only=False)
    (found,) = run(kernel_world(source, kernel, arrays, 1, 1, values={"given": given}), "found")
    wrong = [line for i, each in enumerate(rows) for line in each.wrong(results(each, found.reshape(given.shape)[i]))]
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:40])


def results(each: EdgeWord, found: np.ndarray) -> list[list[object]]:
    """The numbers of each result of a word."""
    return [as_numbers(kind, unpacked(found, kind, i)) for i, kind in enumerate(each.word.results)]


@needs_nvcc
@pytest.mark.heavy
@pytest.mark.parametrize("chapter", ["float", "double", "half", "bfloat16"])  # of the others, see test_words.py
def test_nvcc_s_verdict(chapter: str, tmp_path: Path) -> None:
    make_words, headers = CHAPTERS[chapter]
    rows = make_words()
    assert nvcc_log(kernel_text([each.word for each in rows], headers), tmp_path) == ""
