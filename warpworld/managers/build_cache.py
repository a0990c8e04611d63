"""Where compiled kernels are kept: a folder of files named by a hash of everything that went into them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from warpworld.errors import BuildError


def cache_folder() -> Path:
    """``$WARPWORLD_CACHE``, else the folder ``warpworld`` in the user's cache folder.

    Raises:
        BuildError: the user has no home.
    """
    chosen = os.environ.get("WARPWORLD_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    users = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(users) if users else Path.home() / ".cache").absolute() / "warpworld"
    except RuntimeError as error:
        raise BuildError(
            "there is no home folder to keep compiled kernels in; set WARPWORLD_CACHE to a folder you may write"
        ) from error


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
    """An empty folder, for whoever holds the lock; what a killed process left in it is gone."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def cached(key: str, suffix: str, build: Callable[[Path, Path], None]) -> Path:
    """The file of ``key``, built if it is not there yet.

    Several processes may ask at once: one builds while the others wait. The file appears whole or not at all.

    Args:
        key: from ``content_key``.
        suffix: of the file's name, for instance ".so".
        build: called with a scratch folder and the path in it that is to be written.

    Raises:
        BuildError: the cache folder cannot be written.
    """
    folder = cache_folder()
    target, lock = folder / f"{key}{suffix}", folder / f"{key}.lock"
    if target.exists():
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(lock):
            if not target.exists():
                with _scratch(folder / f"{key}.building") as scratch:
                    built = scratch / target.name
                    build(scratch, built)
                    os.replace(built, target)
                lock.unlink(missing_ok=True)  # whoever waits for it, or makes a new one, finds the target
    except OSError as error:
        raise BuildError(
            f"cannot keep compiled kernels in {folder}: {error.strerror or error}; "
            "set WARPWORLD_CACHE to a folder you may write"
        ) from error
    return target
