"""A word of CUDA's with special arguments, and the results that its reference states for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tests.cuda.words.rounding import FORMATS, quantum, rounded
from tests.cuda.words.word import DTYPES, Word, as_numbers, word


@dataclass(frozen=True)
class EdgeWord:
    """A word and its cases: arguments and results as they are written in a row."""

    word: Word
    cases: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]

    def columns(self, count: int) -> list[np.ndarray]:
        """Its arguments in turn, each (count,), repeated from the first."""
        columns = zip(*(arguments for arguments, _ in self.cases), strict=True)
        return [
            np.resize(_array(kind, column), count) for kind, column in zip(self.word.arguments, columns, strict=True)
        ]

    def wrong(self, found: Sequence[Sequence[Any]]) -> list[str]:
        """A line for each case whose results are not as stated; ``found`` has a sequence for each result."""
        lines = []
        for case, (arguments, results) in enumerate(self.cases):
            for kind, result, stated in zip(self.word.results, found, results, strict=True):
                if not _is(kind, result[case], stated):
                    lines.append(f"{self.word.name}({', '.join(arguments)}) is {result[case]!r}, not {stated}")
        return lines


def edge_word(signature: str, rows: str) -> EdgeWord:
    """A word and its rows, for instance ``float fmodf(float,float)`` and ``0,2=0 3,0=nan``."""
    cases = [row.split("=") for row in rows.split()]
    return EdgeWord(
        word(signature, lambda *given: given),
        [(tuple(given.split(",")), tuple(results.split(","))) for given, results in cases],
    )


def number(text: str, kind: str) -> float:
    """The number that a row means; for a type of floats the least and the largest differ."""
    text = text.removeprefix("~")
    sign = -1.0 if text.startswith("-") else 1.0
    size = text.removeprefix("-")
    if size in ("least", "most"):
        digits, least, most = FORMATS[kind]
        step = Fraction(2) ** (least - digits + 1)
        largest = (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** most
        return sign * float(step if size == "least" else largest)
    return sign * (math.pi * float(size.removesuffix("pi")) if size.endswith("pi") else float(size))


def argument(kind: str, text: str) -> Any:
    """The number of an argument after it has been rounded to its type."""
    return as_numbers(kind, _array(kind, [text]))[0]


def _array(kind: str, column: Sequence[str]) -> np.ndarray:
    if kind not in FORMATS:
        return np.array([int(text) for text in column], DTYPES.get(kind, "uint32"))
    values = [number(text, kind) for text in column]
    if kind == "__nv_bfloat16":
        return (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    with np.errstate(over="ignore"):
        return np.array(values).astype(DTYPES[kind])


def _is(kind: str, result: Any, stated: str) -> bool:
    """Whether a result is as stated, zeros with their sign; rounded ones within 4 units in the last place."""
    if stated == "?":
        return True
    if kind not in FORMATS:
        return bool(result == int(stated))
    if stated == "any0":
        return bool(result == 0)
    meant = number(stated, kind)
    if math.isnan(meant) or not math.isfinite(meant):
        return bool(math.isnan(result) if math.isnan(meant) else result == meant)
    if stated.startswith("~") or stated.endswith("pi"):
        return bool(abs(Fraction(result) - Fraction(meant)) <= 4 * quantum(Fraction(meant), kind))
    return bool(result == rounded(Fraction(meant), kind) and math.copysign(1, result) == math.copysign(1, meant))
