"""CUDA's functions of 16-bit floats: each result is the exact one, rounded to 16 bits once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as m

from tests.cuda.words.casts import MODES, to_float, whole
from tests.cuda.words.word import Word, word

WHOLE = {"int": ("int", 32, True), "uint": ("unsigned", 32, False), "short": ("short", 16, True)}
WHOLE |= {
    "ushort": ("unsigned short", 16, False),
    "ll": ("long long", 64, True),
    "ull": ("unsigned long long", 64, False),
}


def within_one(value: Fraction) -> Fraction:
    return min(max(value, Fraction(0)), Fraction(1))


def exactly(operation: Callable[..., Fraction]) -> Callable[..., Fraction]:
    return lambda *given: operation(*map(Fraction, given))


ARITHMETIC: dict[str, tuple[int, Callable[..., Fraction]]] = {
    "__hadd": (2, lambda a, b: a + b),
    "__hadd_rn": (2, lambda a, b: a + b),
    "__hadd_sat": (2, lambda a, b: within_one(a + b)),
    "__hsub": (2, lambda a, b: a - b),
    "__hsub_rn": (2, lambda a, b: a - b),
    "__hsub_sat": (2, lambda a, b: within_one(a - b)),
    "__hmul": (2, lambda a, b: a * b),
    "__hmul_rn": (2, lambda a, b: a * b),
    "__hmul_sat": (2, lambda a, b: within_one(a * b)),
    "__hdiv": (2, lambda a, b: a / b),
    "__hfma": (3, lambda a, b, c: a * b + c),
    "__hfma_sat": (3, lambda a, b, c: within_one(a * b + c)),
    "__hfma_relu": (3, lambda a, b, c: max(a * b + c, Fraction(0))),
    "__hneg": (1, lambda a: -a),
    "__habs": (1, abs),
    "__hmax": (2, max),
    "__hmin": (2, min),
    "__hmax_nan": (2, max),
    "__hmin_nan": (2, min),
}
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
# name -> oracle, domain of halves
MATHEMATICS: dict[str, tuple[Callable[[float], Any], tuple[float, float]]] = {
    "hceil": (m.ceil, (-99, 99)),
    "hfloor": (m.floor, (-99, 99)),
    "hrint": (m.nint, (-99, 99)),
    "htrunc": (int, (-99, 99)),
    "hcos": (m.cos, (-9, 9)),
    "hsin": (m.sin, (-9, 9)),
    "htanh": (m.tanh, (-3, 3)),
    "hexp": (m.exp, (-5, 9)),
    "hexp2": (lambda x: m.mpf(2) ** x, (-9, 9)),
    "hexp10": (lambda x: m.mpf(10) ** x, (-3, 4)),
    "hlog": (m.log, (0.1, 99)),
    "hlog2": (lambda x: m.log(x, 2), (0.1, 99)),
    "hlog10": (m.log10, (0.1, 99)),
    "hrcp": (lambda x: 1 / m.mpf(x), (0.1, 99)),
    "hrsqrt": (lambda x: 1 / m.sqrt(x), (0.1, 99)),
    "hsqrt": (m.sqrt, (0, 99)),
}


def words_of(kind: str, name: str) -> list[Word]:
    found = [
        word(f"float __{name}2float({kind})", lambda x: x),
        word(f"{kind} __double2{name}(double)", to_float(kind, "rn")),
        word(f"{kind} __float2{name}(float)", to_float(kind, "rn")),
        word(f"signed char __{name}2char_rz({kind})", whole(8, True, "rz", True)),
        word(f"unsigned char __{name}2uchar_rz({kind})", whole(8, False, "rz", True)),
    ]
    for mode in MODES:
        found.append(word(f"{kind} __float2{name}_{mode}(float)", to_float(kind, mode)))
        for of_whole, (c_type, bits, signed) in WHOLE.items():
            found.append(word(f"{kind} __{of_whole}2{name}_{mode}({c_type})", to_float(kind, mode)))
            found.append(word(f"{c_type} __{name}2{of_whole}_{mode}({kind})", whole(bits, signed, mode, True)))
    for of_kind, (count, operation) in ARITHMETIC.items():
        listed = ", ".join([kind] * count)
        away_from_zero = (0.1, 90) if of_kind == "__hdiv" else None
        found.append(word(f"{kind} {of_kind}({listed})", exactly(operation), domain=away_from_zero))
    for comparison, holds in COMPARISONS.items():
        found += [word(f"bool __h{comparison}{u}({kind}, {kind})", holds) for u in ("", "u")]
    found.append(word(f"bool __hisnan({kind})", lambda x: False))
    found += [word(f"{kind} {of_kind}({kind})", oracle, 1, domain) for of_kind, (oracle, domain) in MATHEMATICS.items()]
    return found


HALF = words_of("__half", "half")
BFLOAT16 = words_of("__nv_bfloat16", "bfloat16")
