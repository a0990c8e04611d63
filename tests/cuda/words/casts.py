"""CUDA's conversions of numbers, with a rounding mode in the name, and of their bits."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction

from tests.cuda.words.integers import wrapped
from tests.cuda.words.rounding import rounded, to_whole
from tests.cuda.words.word import Word, word

MODES = ("rn", "rz", "ru", "rd")
WHOLE = {"int": ("int", 32, True), "uint": ("unsigned", 32, False)}
WHOLE |= {"ll": ("long long", 64, True), "ull": ("unsigned long long", 64, False)}


def to_float(kind: str, mode: str) -> Callable[[float], float]:
    return lambda x: rounded(Fraction(x), kind, mode) if math.isfinite(x) else x


def whole(bits: int, signed: bool, mode: str, of_float: bool) -> Callable[[float], int]:
    return lambda x: to_whole(x, bits, signed, mode, of_float)


def bits_of(code: str, value: float | int, to: str) -> float | int:
    result: float | int = struct.unpack(to, struct.pack(code, value))[0]
    return result


def of_mode(mode: str) -> list[Word]:
    found = [word(f"float __double2float_{mode}(double)", to_float("float", mode))]
    for name, (c_type, bits, signed) in WHOLE.items():
        found.append(word(f"float __{name}2float_{mode}({c_type})", to_float("float", mode)))
        found.append(word(f"{c_type} __float2{name}_{mode}(float)", whole(bits, signed, mode, True)))
        found.append(word(f"{c_type} __double2{name}_{mode}(double)", whole(bits, signed, mode, False)))
        if bits == 64 or mode == "rn":
            found.append(word(f"double __{name}2double_{mode}({c_type})", to_float("double", mode)))
    return found


def hi_lo(high: int, low: int) -> float:
    return float(bits_of("<Q", (high % 2**32) << 32 | low % 2**32, "<d"))


WORDS = [
    *(each for mode in MODES for each in of_mode(mode)),
    word("int __float_as_int(float)", lambda x: bits_of("<f", x, "<i")),
    word("unsigned __float_as_uint(float)", lambda x: bits_of("<f", x, "<I")),
    word("long long __double_as_longlong(double)", lambda x: bits_of("<d", x, "<q")),
    word("float __int_as_float(int)", lambda x: bits_of("<i", x, "<f")),
    word("float __uint_as_float(unsigned)", lambda x: bits_of("<I", x, "<f")),
    word("double __longlong_as_double(long long)", lambda x: bits_of("<q", x, "<d")),
    word("int __double2hiint(double)", lambda x: wrapped(int(bits_of("<d", x, "<Q")) >> 32)),
    word("int __double2loint(double)", lambda x: wrapped(int(bits_of("<d", x, "<Q")))),
    word("double __hiloint2double(int, int)", hi_lo),
]
