"""Cache of compiled kernels: a folder of files named by a hash of everything that went into them.

Beside each file stands its SHA-256, as ``sha256sum`` writes it. A file that does not match is built anew: to load a
library that was cut short, by a full disk or a machine that went down, would end the process.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from warpworld.errors import BuildError
from warpworld.files import sync, sync_folder
from warpworld.private_folder import is_writable, private_folder, users_cache

logger = logging.getLogger(__name__)

PATIENCE = 2.0  # seconds of compiling without a word


def cache_folder() -> Path:
    """``$WARPWORLD_CACHE``, else the folder ``warpworld`` in the user's cache folder.

    Where that cannot be written, or the user has no home, it is a private folder, and the first call warns.

    Raises:
        BuildError: no folder can be written.
    """
    chosen = os.environ.get("WARPWORLD_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    users = users_cache()
    wanted = None if users is None else users / "warpworld"
    return wanted if wanted is not None and is_writable(wanted) else _fallback(wanted)


@functools.cache
def _fallback(wanted: Path | None) -> Path:
    """A private folder in place of the one that was wanted, with a warning."""
    what = "there is no home folder" if wanted is None else f"'{wanted}' cannot be written"
    try:
        folder = private_folder() / "cache"
    except OSError as error:
        raise BuildError(
            f"{what}, and neither can a folder for temporary files; set WARPWORLD_CACHE to a folder you may write"
        ) from error
    logger.warning("%s; compiled kernels are kept in %s. WARPWORLD_CACHE names another folder", what, folder)
    return folder


def content_key(parts: Iterable[str | bytes]) -> str:
    """A hash of ``parts``; where one ends and the next begins counts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:32]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl  # not on every system

    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    """An empty folder for the holder of the lock; what a killed process left in it is removed."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _announced(work: str, folder: Path) -> Iterator[None]:
    """Log what is done, here or in another process, if it takes long: as a warning in a terminal."""
    level = logging.WARNING if sys.stderr.isatty() else logging.INFO
    timer = threading.Timer(PATIENCE, logger.log, (level, "%s; the result is kept in %s", work, folder))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _digest_beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _digest_of(path: Path) -> str:
    """A line of ``sha256sum``."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"


def _is_whole(path: Path) -> bool:
    """Whether a file is there and holds what was built."""
    try:
        return _digest_of(path).encode() == _digest_beside(path).read_bytes()
    except FileNotFoundError:
        return False


def _keep(built: Path, target: Path) -> None:
    """Put a file where readers look for it, and its digest before it: each is there whole or not at all."""
    digest = _digest_beside(built)
    digest.write_text(_digest_of(built))
    for path, place in ((digest, _digest_beside(target)), (built, target)):
        with path.open("rb") as file:
            sync(file)
        os.replace(path, place)
    sync_folder(target.parent)


def _cannot_keep(folder: Path, error: OSError) -> BuildError:
    what = f"cannot keep compiled kernels in {folder}: {error.strerror or error}; "
    if error.errno == errno.ENOSPC:
        return BuildError(
            f"{what}free some space there or in {tempfile.gettempdir()}, where compilers write, or set WARPWORLD_CACHE "
            "and TMPDIR to folders with space"
        )
    return BuildError(f"{what}set WARPWORLD_CACHE to a folder you may write")


def cached(
    key: str, suffix: str, build: Callable[[Path, Path], None], subject: str = "kernels", doing: str = "compiling"
) -> Path:
    """The file of ``key``, built if it is not there yet or damaged.

    Several processes may ask at once: one builds while the others wait. The file appears whole or not at all.

    Args:
        key: from ``content_key``.
        suffix: of the file's name, for instance ".so".
        build: called with a scratch folder and the path in it that is to be written.
        subject: name of what is built, for the line that is logged if it takes long.
        doing: what is done to build it, for the same line.

    Raises:
        BuildError: the cache folder cannot be written.
    """
    folder = cache_folder()
    target, lock = folder / f"{key}{suffix}", folder / f"{key}.lock"
    try:
        if _is_whole(target):
            return target
        folder.mkdir(parents=True, exist_ok=True)
        with _announced(f"{doing} {subject}", folder), _locked(lock):
            if not _is_whole(target):
                if target.exists():
                    logger.warning("%s is damaged and is rebuilt", target)
                with _scratch(folder / f"{key}.building") as scratch:
                    built = scratch / target.name
                    build(scratch, built)
                    _keep(built, target)
                lock.unlink(missing_ok=True)  # a process that waits for it, or makes a new one, finds the target
    except OSError as error:
        raise _cannot_keep(folder, error) from error
    return target
