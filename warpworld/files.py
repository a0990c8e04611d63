"""Files that are whole or absent, whenever the process is killed or the disk is full; and reading nothing but files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_OPENED = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")  # pipes with a writer, such as the shell's <(command)


def check_file(path: str | Path) -> None:
    """Refuse what is not an ordinary file: reading a pipe may wait forever, and a device may never end.

    Raises:
        OSError: there is nothing, or something else, which its ``strerror`` names.
    """
    kind = stat.S_IFMT(os.stat(path).st_mode)
    if kind != stat.S_IFREG and not str(path).startswith(_OPENED):
        number = errno.EISDIR if kind == stat.S_IFDIR else errno.EINVAL
        raise OSError(number, f"it is {_KINDS.get(kind, 'something else')}, expected a file", str(path))


def read_file(path: str | Path) -> bytes:
    """The contents of an ordinary file; raises OSError as ``check_file``, or where it cannot be read."""
    check_file(path)
    return Path(path).read_bytes()


def open_to_append(path: Path, mode: str = "ab") -> Any:
    """Open a file to append to it, a new one if there is none; opening a pipe without a reader would wait forever.

    Raises:
        OSError: it is a pipe, or cannot be opened.
    """
    if path.is_fifo():
        raise OSError(errno.EINVAL, "it is a pipe, expected a file", str(path))
    return path.open(mode)


def readable(path: str | Path) -> str:
    r"""A path as text that every file can hold: a byte that is not UTF-8 becomes ``\udce9`` or the like."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


@contextmanager
def replacing_path(path: Path) -> Iterator[Path]:
    """A temporary name to write a file under; it gets its own name in the end.

    For libraries that want a path; ``replacing`` also brings the contents to the disk. Until the rename an older file
    of that name stands unharmed; after an error nothing temporary is left.

    Raises:
        OSError: it cannot be written, or something else than a file has its name.
    """
    if path.exists():
        check_file(path)  # renaming would take the place of a device, such as /dev/null
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield unfinished
        os.replace(unfinished, path)
        sync_folder(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file under a temporary name, bring it to the disk, and then rename it.

    Until the rename an older file of that name stands unharmed; after an error nothing temporary is left.

    Args:
        path: the file's final name; its folder exists.

    Yields:
        The file to write to.

    Raises:
        OSError: it cannot be written.
    """
    with replacing_path(path) as unfinished, open(unfinished, "wb") as file:
        yield file
        sync(file)


def replace_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all; raises OSError as ``replacing``."""
    with replacing(path) as file:
        file.write(text.encode("utf-8"))


def sync(file: BinaryIO) -> None:
    """Bring what was written to a file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Bring a folder's entries to the disk, so that a rename outlives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_unfinished(folder: Path) -> None:
    """Remove what killed processes left under temporary names; only for the process that holds the folder's lock."""
    for entry in folder.glob(".*.tmp"):
        entry.unlink(missing_ok=True)


def reason(error: BaseException) -> str:
    """Reason why writing or reading failed, in one line; the system's message is clearer than torch's."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
