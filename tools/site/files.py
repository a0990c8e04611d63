"""Files of the site's source as a dictionary from path to content: read from docs/, written to the prepared folder."""

from __future__ import annotations

from pathlib import Path

Files = dict[str, bytes]

_LEFT_OUT = (".py", ".pyc")  # scripts that draw pictures


def read_files(folder: Path) -> Files:
    """The files below a folder, by their paths from it, with ``/``."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in _LEFT_OUT
    }


def write_files(files: Files, folder: Path) -> None:
    """Make a folder hold these files alone; a file that is as wanted keeps its time, and a server sees no change."""
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
