"""A folder of the user's own for what is kept below the home folder, where that cannot be written, as in containers."""

from __future__ import annotations

import functools
import os
import stat
import tempfile
from pathlib import Path


def is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made first if it is not there; nothing is left here.

    A file is tried, since what permissions say is not enough: an administrator has all of them, also where a file
    system takes no files.
    """
    for place in (folder, *folder.parents):
        if place.exists():
            return place.is_dir() and os.access(place, os.W_OK | os.X_OK) and _takes_files(place)
    return False


def _takes_files(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@functools.cache
def private_folder() -> Path:
    """A folder for temporary files that no other user can write: ``warpworld-UID``, the same for each process.

    If another user has taken the name, it is a new folder for this process alone.

    Raises:
        OSError: there is no folder for temporary files that can be written.
    """
    folder = Path(tempfile.gettempdir()) / f"warpworld-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return Path(tempfile.mkdtemp(prefix="warpworld-"))
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if is_own else Path(tempfile.mkdtemp(prefix="warpworld-"))


def keep_matplotlib_quiet() -> None:
    """Give matplotlib a folder before it is imported: it would warn if it cannot write below the home folder."""
    if "MPLCONFIGDIR" in os.environ:
        return
    folders = (_below_home("XDG_CONFIG_HOME", ".config"), _below_home("XDG_CACHE_HOME", ".cache"))
    if not all(folder is not None and is_writable(folder / "matplotlib") for folder in folders):
        os.environ["MPLCONFIGDIR"] = str(private_folder() / "matplotlib")


def _below_home(variable: str, name: str) -> Path | None:
    """A folder that a variable names or that lies in the home folder; None without a home."""
    given = os.environ.get(variable)
    try:
        return Path(given) if given else Path.home() / name
    except RuntimeError:
        return None


def users_cache() -> Path | None:
    """``$XDG_CACHE_HOME``, else ``.cache`` in the home folder; None without a home."""
    found = _below_home("XDG_CACHE_HOME", ".cache")
    return None if found is None else found.absolute()
