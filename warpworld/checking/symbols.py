"""Variables of a compiled module, by name: what is in ``__shared__`` or ``__device__`` memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from warpworld.checking.elf import FUNCTION, OBJECT, THREAD_LOCAL, Elf

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
    for symbol in Elf(library).symbols:
        if symbol.defined and symbol.kind in (OBJECT, THREAD_LOCAL) and symbol.nbytes and not _OWN.search(symbol.name):
            is_local = symbol.kind == THREAD_LOCAL
            found[symbol.kind, symbol.offset] = Variable(
                plain_name(symbol.name), symbol.offset, symbol.nbytes, is_local
            )
    return list(found.values())


def assignments_of(library: Path) -> list[tuple[int, int]]:
    """Offset and size of each function that makes one struct as another of its type is."""
    functions = (symbol for symbol in Elf(library).symbols if symbol.defined and symbol.kind == FUNCTION)
    return sorted({(symbol.offset, symbol.nbytes) for symbol in functions if _ASSIGNMENT.match(symbol.name)})


def plain_name(symbol: str) -> str:
    """The last name in a C++ symbol: "row" of "_ZZ7reverseE3row"."""
    if not symbol.startswith("_Z"):
        return symbol
    name, at = symbol, 0
    while match := _NAME.search(symbol, at):
        length = int(match.group(1))
        name, at = match.group(2)[:length], match.start(2) + length
    return name
