"""Undefined behaviour of C++, in words."""

from __future__ import annotations

import re
import struct
from typing import Any

_ADD, _SUBTRACT, _MULTIPLY, _NEGATE, _DIVIDE, _SHIFT, _CAST, _LOAD, _INDEX, _NULL, _ALIGNMENT, _NO_RETURN = range(1, 13)
_SIGNED, _UNSIGNED, _REAL = range(1, 4)
_SIGNS = {_ADD: "+", _SUBTRACT: "-", _MULTIPLY: "*", _DIVIDE: "/"}

_QUALIFIERS = re.compile(r"\b(const|volatile|struct) ")

_WIDER = "compute in a wider type, or in an unsigned one if it should wrap around"
_OTHERWISE = "a GPU gives a different result than a CPU"


def explain(undefined: Any, element: str) -> tuple[str, str]:
    """An agent's fault, and its remedy.

    Args:
        undefined: ww_undefined of a finding.
        element: what lies at the address, if there is one.
    """
    what, kind = undefined.what, _QUALIFIERS.sub("", (undefined.type or b"").decode().strip("'").replace(" [", "["))
    left, right = _number(undefined.left), _number(undefined.right)
    if what == _DIVIDE and right == "0":
        return f"computes {left} / 0", f"test the divisor first: {_OTHERWISE}"
    if what in _SIGNS:
        return f"computes {left} {_SIGNS[what]} {right}, which overflows {kind}", _WIDER
    return {
        _NEGATE: (f"computes -({left}), which overflows {kind}", _WIDER),
        _SHIFT: (f"shifts a value of type {kind} by {right} places", f"test the number of places first: {_OTHERWISE}"),
        _CAST: (f"makes {left} a value of type {kind}, which cannot hold it", f"clamp it before: {_OTHERWISE}"),
        _LOAD: (f"reads {left} as a value of type {kind}", "write it before it is read, as the type it is read as"),
        _INDEX: (f"takes index {left} of an array of type {kind}", "check the index against the array's size"),
        _NULL: ("follows a null pointer", "test the pointer first"),
        _ALIGNMENT: (
            f"takes {element} for a value of type {kind}, whose address must be a multiple of {right} bytes",
            "access it in parts, or align it: a GPU ends the kernel with an error",
        ),
        _NO_RETURN: ("reaches the end of a function that should return a value", "return one on every path through it"),
    }[what]


def index_of(undefined: Any) -> tuple[int, ...]:
    """The index that was out of an array's bounds; empty for what is not about one."""
    return (int(_number(undefined.left)),) if undefined.what == _INDEX else ()


def _number(value: Any) -> str:
    if value.kind == _REAL:
        return f"{struct.unpack('<d', struct.pack('<Q', value.bits))[0]:.9g}"
    if value.kind == _SIGNED and value.bits >> 63:
        return str(value.bits - 2**64)
    return str(value.bits) if value.kind in (_SIGNED, _UNSIGNED) else "a value"
