"""Ends of types in all combinations, for words whose exact results are computed: whole numbers, casts, arithmetic."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tests.cuda.words import arithmetic, casts, integers, simd
from tests.cuda.words.edge_word import EdgeWord, argument
from tests.cuda.words.rounding import FORMATS, rounded
from tests.cuda.words.word import DTYPES, SAMPLES, Word

# Numbers beside the ends of whole types and halfway between two of them; then the ends of floats themselves.
_TO_CAST = [
    *("nan", "inf", "-inf", "0", "-0", "0.5", "1.5", "2.5", "-0.5", "-1.5", "-2.5", "0.99", "-0.99", "least", "-least"),
    *(
        "most",
        "-most",
        "127",
        "127.5",
        "128",
        "-128.5",
        "-129",
        "255.5",
        "256",
        "32767",
        "32767.5",
        "32768",
        "-32768.5",
    ),
    *("-32769", "65535", "65536", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295"),
    *("4294967295.5", "4294967296", "9223372036854774784", "9223372036854775808", "-9223372036854775808", "-9.3e18"),
    *("18446744073709549568", "18446744073709551616", "1e30"),
]
_FINITE = ["least", "-least", "most", "-most", "1", "-1.5"]
_POSITIVE = ["least", "most", "1", "2", "1e-39", "1e38"]
_PAIRS = [0x80808080, 0x7F7F7F7F, 0xFFFFFFFF, 0, 0x01010101, 0x80017FFE]  # ends of all parts of a word


def crossed(each: Word, values: Sequence[str] | None = None) -> EdgeWord:
    """A word with combinations of special arguments, and what its oracle makes of them.

    Args:
        each: the word.
        values: of the arguments; None for the ends of their types, which are whole.
    """
    columns = [list(values or _ends(kind)) for kind in each.arguments]
    most = {1: SAMPLES, 2: 6, 3: 3}.get(len(columns), 2)
    if len(columns) == 3:
        columns = [column[i % 2 :: 2] for i, column in enumerate(columns)]
    cases = [(given, _results(each, given)) for given in itertools.product(*(column[:most] for column in columns))]
    return EdgeWord(each, cases)


def _ends(kind: str) -> list[str]:
    if kind not in DTYPES:  # a vector
        return [str(each) for each in _PAIRS]
    ends = np.iinfo(DTYPES[kind])
    own = [ends.min, ends.max, 0, 1, ends.max - 1, ends.max // 2, ends.min + 1, 31, 32, 33, 63, 64]
    parts = [each for each in _PAIRS if kind == "unsigned"]
    return [str(each) for each in (*parts, *own)][:: 2 if parts else 1]


def _results(each: Word, given: Sequence[str]) -> tuple[str, ...]:
    """What the oracle makes of arguments, as a row has it; zeros of floats count without their sign."""
    made = each.oracle(*(argument(kind, text) for kind, text in zip(each.arguments, given, strict=True)))
    results = made if isinstance(made, tuple) else (made,)
    return tuple(_written(kind, result) for kind, result in zip(each.results, results, strict=True))


def _written(kind: str, result: Any) -> str:
    if kind not in FORMATS:
        return str(int(result))
    if not math.isfinite(result):
        return str(float(result))
    nearest = rounded(Fraction(result), kind)
    return "any0" if nearest == 0 else str(nearest)


def _of_floats(words: Sequence[Word]) -> list[Word]:
    return [each for each in words if all(kind in FORMATS for kind in each.arguments)]


def _conversions(words: Sequence[Word]) -> list[Word]:
    """Those of one float to another type, by their names."""
    return [each for each in _of_floats(words) if re.match("__.*2", each.name) and len(each.arguments) == 1]


def whole() -> list[EdgeWord]:
    """Words of whole numbers, and those that make floats of them; a base over 31 is undefined for ``__fns``."""
    of_whole = [each for each in casts.WORDS if each not in _of_floats(casts.WORDS)]
    return [crossed(each) for each in (*integers.WORDS, *simd.WORDS, *of_whole) if each.name != "__fns"]


def conversions() -> list[EdgeWord]:
    """Words that make another type of a float."""
    return [crossed(each, _TO_CAST) for each in _of_floats(casts.WORDS)]


def of_sixteen_bits(words: Sequence[Word]) -> list[EdgeWord]:
    """Conversions among the words of a type of 16 bits."""
    return [crossed(each, _TO_CAST) for each in _conversions(words)]


def rounded_arithmetic() -> list[EdgeWord]:
    """Arithmetic with a rounding mode in the name, of denormals and of results that no float holds."""
    return [crossed(each, _POSITIVE if "sqrt" in each.name else _FINITE) for each in arithmetic.WORDS]
