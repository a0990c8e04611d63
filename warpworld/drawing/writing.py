"""Pages and pictures as files, each written whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warpworld.errors import RunError
from warpworld.files import reason, replacing_path


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file that appears complete or not at all.

    Raises:
        RunError: it cannot be written.
    """
    with replacing(path) as unfinished:
        unfinished.write_bytes(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name to write a file under; it gets its own name in the end, if nothing went wrong.

    Raises:
        RunError: it cannot be written.
    """
    try:
        with replacing_path(path) as unfinished:
            yield unfinished
    except OSError as error:
        raise RunError(f"'{path}' cannot be written: {reason(error)}") from error


def make_folder(path: Path) -> Path:
    """Make a folder, and those that it lies in, where there is none, before what it is for is done.

    Raises:
        RunError: it cannot be made, or no file can be made in it.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"folder '{path}' cannot be made: {error.strerror or error}") from error
    try:
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        where = f"folder '{path.resolve()}' cannot be written"
        raise RunError(f"{where}: {error.strerror or error}; name another one with its option") from error
    return path
