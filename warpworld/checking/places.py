"""Places in kernel files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """A line of a kernel file; 0 where only the file is known."""

    file: str
    line: int

    def __str__(self) -> str:
        path = Path(self.file)
        shown = path.relative_to(Path.cwd()) if Path.cwd() in path.parents else path
        return f"{shown}:{self.line}" if self.line else str(shown)


@dataclass(frozen=True)
class Lines:
    """Lines of a kernel file, both ends included."""

    file: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{Place(self.file, self.first)}" + (f"-{self.last}" if self.last > self.first else "")
