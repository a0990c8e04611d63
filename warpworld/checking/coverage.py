"""Lines of kernels that ran in a check, and those that never did.

Compilers call ``__sanitizer_cov_trace_pc`` at the start of each basic block. A line ran if a block with code of it did.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import os
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from warpworld.checking.elf import FUNCTION, Elf
from warpworld.checking.line_table import line_rows
from warpworld.checking.places import Lines
from warpworld.managers.signature import Signature

_CALL = "__sanitizer_cov_trace_pc"
_OPERAND, _KERNELS = 4, 64  # bytes of a call's operand; kernels that are distinguished
_AT_LOAD = re.compile(r"_GLOBAL__sub|static_init|__cxx_global")  # functions that make static variables
NO_KERNEL = ""  # the part of functions that no kernel has called
Line = tuple[str, int]


@dataclass(frozen=True)
class Coverage:
    """Coverage of a kernel and of the functions that it called.

    Attributes:
        kernel: its name; empty for functions that no kernel has called.
        lines: how many lines have code.
        ran: how many of them ran in at least one kernel.
        never: those that did not.
    """

    kernel: str
    lines: int
    ran: int
    never: tuple[Lines, ...] = ()

    def __str__(self) -> str:
        never = _ranges(self.never)
        if self.kernel == NO_KERNEL:
            return f"no kernel called the functions at {never}"
        if not self.never:
            return f"{self.kernel}: all {self.lines} lines ran" if self.lines != 1 else f"{self.kernel}: its line ran"
        return f"{self.kernel}: {self.ran} of {self.lines} lines ran; never: {never}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self)


class LinesRun:
    """Collects what ran in the modules of a check.

    Args:
        files: the author's.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._files = [str(path) for path in files]
        self._names: dict[str, str | None] = {}
        self._ran: set[Line] = set()
        self._lines: dict[str, set[Line]] = defaultdict(set)

    def add(self, library: Path, ran: np.ndarray, kernels: Mapping[int, str]) -> None:
        """Add a module's blocks.

        Args:
            library: the module.
            ran: (bytes of its image,) uint64, a bit for each kernel that came to the block there.
            kernels: names by their number in the world.
        """
        for block in _blocks(library, ran):
            lines = [(file, line) for name, line in block.lines if (file := self._authors(name)) is not None]
            if block.came:
                self._ran.update(lines)
            names = {name for index, name in kernels.items() if block.function_came >> index % _KERNELS & 1}
            for name in names or {NO_KERNEL}:
                self._lines[name].update(lines)

    def _authors(self, name: str) -> str | None:
        """The author's file that a compiler calls so: some name files relative to the folder that they ran in."""
        if name not in self._names:
            path = os.path.normpath(name)
            relative = not os.path.isabs(path)
            found = (file for file in self._files if file == path or (relative and file.endswith(f"/{path}")))
            self._names[name] = next(found, None)
        return self._names[name]

    def report(self, kernels: Iterable[Signature], used: Container[str]) -> tuple[Coverage, ...]:
        """The lines of each kernel, then those of functions that no kernel has called.

        Args:
            kernels: all of the file, in order.
            used: names of those that the environment runs. The functions of others would never be called.
        """
        found, kernels = [], list(kernels)
        called = set().union(*(lines for name, lines in self._lines.items() if name != NO_KERNEL))
        idle = self._lines[NO_KERNEL] - called
        # kernels, with lines that no kernel reached
        for kernel in kernels:
            within = range(kernel.line, kernel.last_line + 1)
            own = {(file, line) for file, line in idle if file == str(kernel.path) and line in within}
            idle -= own
            if kernel.name in used:
                found.append(self._coverage(kernel.name, self._lines[kernel.name] | own))
        # functions that no kernel called
        files = {str(kernel.path) for kernel in kernels}  # a header may be for several kernel files
        idle = {line for line in idle if line[0] in files}
        if idle and all(kernel.name in used for kernel in kernels):
            found.append(self._coverage(NO_KERNEL, idle))
        return tuple(each for each in found if each.lines)

    def _coverage(self, kernel: str, lines: set[Line]) -> Coverage:
        never, known = lines - self._ran, sorted(set().union(*self._lines.values()))
        return Coverage(kernel, len(lines), len(lines & self._ran), tuple(_stretches(never, known)))


@dataclass(frozen=True)
class _Block:
    """A basic block: its lines, the kernels that came to it, and those that came to its function."""

    lines: Sequence[Line]
    came: int
    function_came: int


def _blocks(library: Path, ran: np.ndarray) -> Iterable[_Block]:
    """The basic blocks of a library that have lines."""
    # lines of the library, and calls that begin its blocks
    elf = Elf(library)
    rows = line_rows(elf)
    starts = sorted(place - 1 for place in elf.calls_of(_CALL))
    addresses = [row.address for row in rows]
    # blocks of each function
    for symbol in elf.symbols:
        end = symbol.offset + symbol.nbytes
        inside = starts[bisect.bisect_left(starts, symbol.offset) : bisect.bisect_left(starts, end)]
        if symbol.kind != FUNCTION or not symbol.defined or not inside or _AT_LOAD.search(symbol.name):
            continue
        came = [int(ran[start + 1 + _OPERAND]) for start in inside]
        function_came = int(np.bitwise_or.reduce(np.array(came, np.uint64)))
        bounds = [symbol.offset, *inside[1:], end]
        for first, last, kernels in zip(bounds, bounds[1:], came, strict=False):
            own = rows[bisect.bisect_left(addresses, first) : bisect.bisect_left(addresses, last)]
            yield _Block([(row.file, row.line) for row in own], kernels, function_came)


def _stretches(lines: set[Line], known: Sequence[Line]) -> Iterable[Lines]:
    """Lines as stretches, within which there may be lines without code, but none of the other known ones."""
    first: Line | None = None
    for line, after in itertools.zip_longest(known, known[1:], fillvalue=("", 0)):
        if line not in lines:
            continue
        first = first or line
        if after not in lines or after[0] != line[0]:
            yield Lines(line[0], first[1], line[1])
            first = None


def _ranges(never: Sequence[Lines]) -> str:
    """Lines in words, each file's name once: "berries.cu:18-20, 25"."""
    words, file = [], ""
    for lines in never:
        words.append(str(lines).rpartition(":")[2] if lines.file == file else str(lines))
        file = lines.file
    return ", ".join(words)
