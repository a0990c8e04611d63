"""Variables of a compiled module, by name: what is in ``__shared__`` or ``__device__`` memory."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SECTION, _SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")  # ELF64, little-endian
_SYMBOL_TABLE = 2
_OBJECT, _FUNCTION, _THREAD_LOCAL = 1, 2, 6  # types of symbols
# What the header, the check runtime and the compiler put beside the author's variables.
_OWN = re.compile(
    r"^(_?ww_|_ZZ?N\d+ww(_check)?|_ZGV|_ZT|__|_DYNAMIC|_GLOBAL_OFFSET|completed\.)|ww_(site|shared|kernel|wrapped)"
)
_ASSIGNMENT = re.compile(r"^_ZN.*(?:aS|C[12])E(?:OS|RKS)\d*_$")  # operator= and constructor of T, from a T
_NAME = re.compile(r"(\d+)([A-Za-z_]\w*)")


@dataclass(frozen=True)
class Variable:
    """A variable that lies in a module.

    Attributes:
        name: what the author calls it.
        offset: from the image's start, or from that of the thread-local block.
        nbytes: how large it is.
        thread_local: whether it is in the thread-local block, where ``__shared__`` variables are.
    """

    name: str
    offset: int
    nbytes: int
    thread_local: bool


def variables_of(library: Path) -> list[Variable]:
    """The author's variables in a shared library that was built from a kernel file."""
    found = {}
    for symbol, kind, offset, nbytes in _symbols(library.read_bytes()):
        if kind in (_OBJECT, _THREAD_LOCAL) and nbytes and not _OWN.search(symbol):
            found[kind, offset] = Variable(plain_name(symbol), offset, nbytes, kind == _THREAD_LOCAL)
    return list(found.values())


def assignments_of(library: Path) -> list[tuple[int, int]]:
    """Offset and size of each function that makes one struct as another of its type is."""
    symbols = _symbols(library.read_bytes())
    return sorted(
        {(offset, nbytes) for name, kind, offset, nbytes in symbols if kind == _FUNCTION and _ASSIGNMENT.match(name)}
    )


def plain_name(symbol: str) -> str:
    """The last name in a C++ symbol: "row" of "_ZZ7reverseE3row"."""
    if not symbol.startswith("_Z"):
        return symbol
    name, at = symbol, 0
    while match := _NAME.search(symbol, at):
        length = int(match.group(1))
        name, at = match.group(2)[:length], match.start(2) + length
    return name


def _symbols(data: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Name, type, value and size of each defined symbol of an ELF file; of another file none."""
    if data[:6] != b"\x7fELF\x02\x01":
        return
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [_SECTION.unpack_from(data, start + i * size) for i in range(count)]
    for _, kind, _, _, offset, nbytes, link, _, _, entry in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for at in range(offset, offset + nbytes, entry):
            name, info, _, section, value, length = _SYMBOL.unpack_from(data, at)
            if section:
                yield data[names + name : data.index(b"\0", names + name)].decode(), info & 15, value, length
