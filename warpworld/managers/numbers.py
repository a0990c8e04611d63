"""Numbers that kernels take by value: how one is declared, not what it is today, decides which C types hold it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpworld.managers.c_types import C_NAMES

Number = int | float | bool

_KINDS: dict[str, type] = {"bool": bool, "int": int, "float": float}


@dataclass(frozen=True)
class Scalar:
    """Meaning of a name among the numbers.

    Attributes:
        value: in Python's own types.
        kind: bool, int or float, as declared; None for a value that is not a number.
    """

    value: Any
    kind: type | None


def scalar_of(value: Any, annotation: Any = None) -> Scalar:
    """A value with its kind.

    Args:
        value: a number of Python's or NumPy's, or anything else.
        annotation: the type that it is declared with, or that type's name. Another than bool, int and float, such as
            ``int | None``, and one that the value does not keep to, leave the kind to the value.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    own = type(plain) if isinstance(plain, (bool, int, float)) else None
    kind = next((each for each in (bool, int, float) if own is not None and issubclass(own, each)), None)
    declared = _KINDS.get(annotation if isinstance(annotation, str) else getattr(annotation, "__name__", ""))
    return Scalar(plain, float if kind is int and declared is float else kind)


def fits(number: Scalar, dtype: str) -> bool:
    """Whether a number can be passed as ``dtype``.

    A bool passes as bools and whole numbers, an int as whole numbers in whose range it is and as floats that hold it
    exactly, a float as floats in whose range it is.
    """
    kind, value = np.dtype(dtype).kind, number.value
    if number.kind is bool:
        return kind in "biu"
    if number.kind is int and kind in "iu":
        return bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)
    if number.kind is None or kind != "f":
        return False
    in_range = abs(value) <= float(np.finfo(dtype).max) or value != value or abs(value) == math.inf
    return in_range and (number.kind is float or int(np.dtype(dtype).type(value)) == value)


def why_not(number: Scalar, dtype: str) -> str:
    """Reason why a number that does not fit cannot be passed as ``dtype``."""
    kind = np.dtype(dtype).kind
    if number.kind is int and kind == "f":
        return f"its value is {number.value}, which {C_NAMES[dtype]} does not hold exactly"
    same = {bool: "b", int: "iu", float: "f"}
    if number.kind is not None and kind not in same[number.kind]:
        return f"it is {'an' if number.kind is int else 'a'} {number.kind.__name__} ({number.value!r})"
    return f"its value is {number.value!r}"


def remedy(number: Scalar, name: str) -> str:
    """A number as an author would write it."""
    candidates = {bool: ("bool",), int: ("int32", "int64", "uint64", "float64")}.get(number.kind or float)
    found = next((C_NAMES[dtype] for dtype in candidates or ("float32", "float64") if fits(number, dtype)), None)
    return f"write `{found} {name}`" if found else "no C type holds it, so declare it as a float"
