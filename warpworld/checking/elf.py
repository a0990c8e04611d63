"""Sections, symbols and calls of a shared library in the ELF format."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SECTION, _SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")  # ELF64, little-endian
_RELOCATION = struct.Struct("<QQq")
_SYMBOL_TABLE, _RELOCATIONS = 2, 4  # types of sections
OBJECT, FUNCTION, THREAD_LOCAL = 1, 2, 6  # types of symbols


@dataclass(frozen=True)
class Symbol:
    """A name in a library.

    Attributes:
        name: as the linker knows it.
        kind: OBJECT, FUNCTION, THREAD_LOCAL or another type of symbol.
        offset: from the image's start, or from that of the thread-local block.
        nbytes: size of the thing.
        defined: whether it lies in this library.
    """

    name: str
    kind: int
    offset: int
    nbytes: int
    defined: bool


class Elf:
    """A library's parts; a file of another format has none.

    Args:
        path: the library.
    """

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        self._sections: list[tuple[int, ...]] = []
        self._names: list[str] = []
        if self._data[:6] != b"\x7fELF\x02\x01":
            return
        (start,) = struct.unpack_from("<Q", self._data, 40)
        size, count, names = struct.unpack_from("<HHH", self._data, 58)
        self._sections = [_SECTION.unpack_from(self._data, start + i * size) for i in range(count)]
        at = self._sections[names][4]
        self._names = [self._string(at + section[0]) for section in self._sections]

    def section(self, name: str) -> bytes:
        """The contents of a section; empty if there is none."""
        if name not in self._names:
            return b""
        _, _, _, _, offset, nbytes, *_ = self._sections[self._names.index(name)]
        return self._data[offset : offset + nbytes]

    @functools.cached_property
    def symbols(self) -> list[Symbol]:
        """The symbols, in the order of the table."""
        found = []
        for _, kind, _, _, offset, nbytes, link, _, _, entry in self._sections:
            if kind != _SYMBOL_TABLE:
                continue
            names = self._sections[link][4]
            for at in range(offset, offset + nbytes, entry):
                name, info, _, section, value, length = _SYMBOL.unpack_from(self._data, at)
                found.append(Symbol(self._string(names + name), info & 15, value, length, bool(section)))
        return found

    def calls_of(self, function: str) -> Iterator[int]:
        """The places that call a function: where a call's own bytes refer to it. Needs a library with relocations."""
        wanted = {number for number, symbol in enumerate(self.symbols) if symbol.name == function}
        for name, (_, kind, _, _, offset, nbytes, *_) in zip(self._names, self._sections, strict=True):
            if kind != _RELOCATIONS or not name.startswith(".rela.text"):
                continue
            for place, info, _ in _RELOCATION.iter_unpack(self._data[offset : offset + nbytes]):
                if info >> 32 in wanted:
                    yield place

    def _string(self, at: int) -> str:
        return self._data[at : self._data.index(b"\0", at)].decode(errors="replace")
