"""Runs the tools that build kernels: compilers, linkers and what reads their files."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from warpworld.errors import BuildError

LEAST_FREE = 1 << 20  # bytes of a disk that is not full


def run_tool(command: Sequence[str], timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a tool, with messages in English: errors are looked for in them.

    Raises:
        OSError: it cannot be started, or it has failed since a disk is full.
    """
    environment = {**os.environ, "LC_ALL": "C"}
    result = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, timeout=timeout, env=environment
    )
    if result.returncode and _is_full(command, result.stderr + result.stdout):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return result


def _is_full(command: Sequence[str], printed: str) -> bool:
    """Whether a tool has failed since a disk is full; a linker that maps its output is then ended by a signal."""
    if os.strerror(errno.ENOSPC) in printed:
        return True
    outputs = [Path(after) for word, after in pairwise(command) if word == "-o"]
    folders = [path.parent for path in outputs if path.parent.is_dir()]
    ended = "Bus error" in printed or "signal 7" in printed
    return ended and any(shutil.disk_usage(folder).free < LEAST_FREE for folder in folders)


def words_of(variable: str) -> tuple[str, ...]:
    """An environment variable, split as a shell does.

    Raises:
        BuildError: a quote in it is not closed.
    """
    text = os.environ.get(variable, "")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise BuildError(f"{variable}={text!r} cannot be split into words: {error}") from error
