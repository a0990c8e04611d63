"""CUDA's arithmetic with a rounding mode in the name: exact results, rounded once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath

from tests.cuda.words.casts import MODES
from tests.cuda.words.rounding import rounded
from tests.cuda.words.word import Word, word


def fraction(value: mpmath.mpf) -> Fraction:
    """A number of mpmath's as it is."""
    sign, mantissa, exponent, _ = value._mpf_
    return Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** int(exponent)


def root(x: Fraction) -> Fraction:
    """The square root, with more digits than any float keeps."""
    with mpmath.workprec(300):
        return fraction(mpmath.sqrt(mpmath.mpf(x.numerator) / x.denominator))


# name -> arguments, exact result; samples keep away from results that no float holds
OPERATIONS: dict[str, tuple[int, Callable[..., Fraction]]] = {
    "add": (2, lambda a, b: a + b),
    "sub": (2, lambda a, b: a - b),
    "mul": (2, lambda a, b: a * b),
    "div": (2, lambda a, b: a / b),
    "rcp": (1, lambda a: 1 / a),
    "sqrt": (1, root),
    "ma": (3, lambda a, b, c: a * b + c),
}


def words_of(kind: str, prefix: str) -> list[Word]:
    found = []
    for name, (count, operation) in OPERATIONS.items():
        full = f"__fma{'f' if kind == 'float' else ''}" if name == "ma" else f"__{prefix}{name}"
        names = [full, "__fmaf_ieee"] if full == "__fmaf" else [full]
        for mode in MODES:

            def oracle(*given: float, operation: Callable[..., Fraction] = operation, mode: str = mode) -> float:
                return rounded(operation(*map(Fraction, given)), kind, mode)

            listed = ", ".join([kind] * count)
            found += [word(f"{kind} {each}_{mode}({listed})", oracle, domain=(1e-3, 1e3)) for each in names]
            found += [
                word(f"{kind} {full}_{mode}({listed})", oracle, domain=(-5, -4e-6)) for _ in range(name != "sqrt")
            ]
    return found


def of_root(x: float) -> Fraction:
    return 1 / root(Fraction(x))


WORDS = [
    *words_of("float", "f"),
    *words_of("double", "d"),
    word("float __frsqrt_rn(float)", of_root, domain=(1e-6, 1e6)),
    word("float __saturatef(float)", lambda x: min(max(x, 0.0), 1.0)),
]
