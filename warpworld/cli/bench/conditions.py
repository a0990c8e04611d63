"""Conditions of a measurement, which are saved with its rows."""

from __future__ import annotations

import platform
import subprocess
import time
from pathlib import Path

from warpworld.errors import BuildError
from warpworld.managers.cpu import available_cores, find_compiler
from warpworld.runs import processor_name
from warpworld.version import __version__

REPOSITORY = Path(__file__).resolve().parents[3]  # of a checkout; an installed package lies in none


def conditions() -> dict[str, object]:
    """Date, commit, version, processor, cores, compiler and Python; commit and compiler may be None."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": _commit(),
        "version": __version__,
        "device": processor_name(),
        "cores": available_cores(),
        "compiler": _compiler(),
        "python": platform.python_version(),
    }


def _commit() -> str | None:
    if not (REPOSITORY / ".git").exists():
        return None
    command = ["git", "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # there is no git
        return None
    return found or None


def _compiler() -> str | None:
    """The host's C++ compiler; a GPU needs none."""
    try:
        return find_compiler().version
    except BuildError:
        return None
