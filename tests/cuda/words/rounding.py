"""Rounds exact numbers to floats of any size, in any direction."""

from __future__ import annotations

import math
from fractions import Fraction

# name -> bits of the significand, least and greatest exponent
FORMATS = {
    "float": (24, -126, 127),
    "double": (53, -1022, 1023),
    "__half": (11, -14, 15),
    "__nv_bfloat16": (8, -126, 127),
}


def quantum(value: Fraction, kind: str) -> Fraction:
    """Distance of neighbouring floats of a kind at a number."""
    digits, least, _ = FORMATS[kind]
    exponent = least
    if value:
        size = abs(value)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        exponent -= size < Fraction(2) ** exponent
    return Fraction(2) ** (max(exponent, least) - digits + 1)


def rounded(value: Fraction, kind: str, mode: str = "rn") -> float:
    """The float of a kind that a number is rounded to: rn to nearest, ties to even; rz, ru and rd as CUDA has them."""
    step = quantum(value, kind)
    whole = value / step
    ways = {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}
    result = ways[mode](whole) * step
    digits, _, most = FORMATS[kind]
    largest = (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** most
    if abs(result) > largest:
        outwards = {"rn": True, "rz": False, "ru": value > 0, "rd": value < 0}[mode]
        return math.copysign(math.inf if outwards else float(largest), 1 if value > 0 else -1)
    return float(result)


def to_whole(value: float, bits: int, signed: bool, mode: str, of_float: bool) -> int:
    """A float as a whole number, as a GPU makes it: ends of the type for what is beyond it."""
    if math.isnan(value):
        return _signed(1 << bits - 1, bits, signed) if bits == 64 or not of_float else 0
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if math.isinf(value):
        return high if value > 0 else low
    ways = {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}
    return min(max(ways[mode](Fraction(value)), low), high)


def _signed(value: int, bits: int, signed: bool) -> int:
    return value - (1 << bits) if signed and value >> bits - 1 else value
