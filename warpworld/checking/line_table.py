"""Lines of a compiled library by address: the line-number program of DWARF 2 to 5 (dwarfstd.org, section 6.2)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from warpworld.checking.elf import Elf
from warpworld.managers.cpu import installed_file

_PATH, _FOLDER = 1, 2  # what an entry of DWARF 5 says of a file
_FIXED = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}  # forms of known size
_STRING, _STRING_IN, _LINE_STRING, _NUMBER, _BLOCK = 0x08, 0x0E, 0x1F, 0x0F, 0x09  # other forms


@dataclass(frozen=True)
class Row:
    """A place where a line's code begins.

    Attributes:
        address: from the image's start.
        file: path, as the compiler was given it.
        line: from 1.
    """

    address: int
    file: str
    line: int


def line_rows(library: Elf) -> list[Row]:
    """The places where statements begin, by address; empty without line numbers."""
    reader, rows = _Reader(library.section(".debug_line")), list[Row]()
    strings = {_LINE_STRING: library.section(".debug_line_str"), _STRING_IN: library.section(".debug_str")}
    while reader.at < len(reader.data):
        rows.extend(_Unit(reader, strings).rows())
    return sorted(rows, key=lambda row: row.address)


@dataclass
class _Reader:
    """Numbers and strings, one after the other."""

    data: bytes
    at: int = 0
    wide: bool = False  # offsets of 64 bits

    def number(self, nbytes: int) -> int:
        self.at += nbytes
        return int.from_bytes(self.data[self.at - nbytes : self.at], "little")

    def offset(self) -> int:
        return self.number(8 if self.wide else 4)

    def length(self) -> int:
        """The length of a unit, which says how wide the offsets in it are."""
        length = self.number(4)
        self.wide = length == 0xFFFFFFFF
        return self.number(8) if self.wide else length

    def leb(self, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def string(self) -> str:
        end = self.data.index(b"\0", self.at)
        text, self.at = self.data[self.at : end].decode(errors="replace"), end + 1
        return text


@dataclass
class _State:
    """The registers of a line-number program."""

    is_statement: bool
    address: int = 0
    file: int = 1
    line: int = 1


class _Unit:
    """One compilation unit's program; reading it moves the reader behind it."""

    def __init__(self, reader: _Reader, strings: dict[int, bytes]) -> None:
        self._in, self._strings = reader, strings
        # length and version
        length = reader.length()
        self._end = reader.at + length
        self._version = reader.number(2)
        if self._version >= 5:
            reader.at += 2  # sizes of addresses and segments
        # the place of the program
        program = reader.offset()
        program += reader.at
        # the form of its operations
        self._least = reader.number(1)
        if self._version >= 4:
            reader.at += 1  # operations in an instruction
        self._is_statement = bool(reader.number(1))
        (self._base,) = struct.unpack("b", reader.data[reader.at : reader.at + 1])
        reader.at += 1
        self._range, self._first_special = reader.number(1), reader.number(1)
        self._operands = [reader.number(1) for _ in range(self._first_special - 1)]
        # names of files, whose form depends on the version
        recorded = self._new_files() if self._version >= 5 else self._old_files()
        self._files = [*map(installed_file, recorded)]
        reader.at = program

    def _old_files(self) -> Iterator[str]:
        """Files of DWARF 2 to 4, which are counted from 1."""
        folders = [""]
        while folder := self._in.string():
            folders.append(folder)
        yield ""
        while name := self._in.string():
            number, _, _ = self._in.leb(), self._in.leb(), self._in.leb()  # of the folder; time; size
            yield _path(folders, number, name)

    def _new_files(self) -> Iterator[str]:
        folders = [str(entry[_PATH]) for entry in self._entries()]
        folders = [_path(folders, 0, folder) for folder in folders]  # relative to where the compiler ran
        for entry in self._entries():
            yield _path(folders, int(entry.get(_FOLDER, 0)), str(entry[_PATH]))

    def _entries(self) -> list[dict[int, int | str]]:
        forms = [(self._in.leb(), self._in.leb()) for _ in range(self._in.number(1))]
        return [{what: self._value(form) for what, form in forms} for _ in range(self._in.leb())]

    def _value(self, form: int) -> int | str:
        if form == _STRING:
            return self._in.string()
        if form in self._strings:
            return _Reader(self._strings[form], self._in.offset()).string()
        if form == _BLOCK:
            self._in.at += self._in.leb()
            return 0
        return self._in.leb() if form == _NUMBER else self._in.number(_FIXED[form])

    def rows(self) -> Iterator[Row]:
        """The statements of the program."""
        state = _State(self._is_statement)
        while self._in.at < self._end:
            code = self._in.number(1)
            if code >= self._first_special:
                code -= self._first_special
                state.address += code // self._range * self._least
                state.line += self._base + code % self._range
                yield from self._row(state)
            elif code == 0:
                state = self._extended(state)
            elif code == 1:
                yield from self._row(state)
            else:
                self._standard(code, state)

    def _row(self, state: _State) -> Iterator[Row]:
        if state.is_statement and state.line and state.file < len(self._files):
            yield Row(state.address, self._files[state.file], state.line)

    def _extended(self, state: _State) -> _State:
        """Carry out an operation of any length; the state after it."""
        length = self._in.leb()
        end, code = self._in.at + length, self._in.number(1)
        if code == 1:  # the end of a sequence
            state = _State(self._is_statement)
        elif code == 2:
            state.address = self._in.number(length - 1)
        self._in.at = end
        return state

    def _standard(self, code: int, state: _State) -> None:
        if code == 2:
            state.address += self._in.leb() * self._least
        elif code == 3:
            state.line += self._in.leb(signed=True)
        elif code == 4:
            state.file = self._in.leb()
        elif code == 6:
            state.is_statement = not state.is_statement
        elif code == 8:
            state.address += (255 - self._first_special) // self._range * self._least
        elif code == 9:
            state.address += self._in.number(2)
        else:
            for _ in range(self._operands[code - 1]):
                self._in.leb()


def _path(folders: list[str], folder: int, name: str) -> str:
    inside = folders[folder] if folder < len(folders) else ""
    return name if name.startswith("/") or not inside else f"{inside}/{name}"
