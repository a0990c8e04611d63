"""Runs the tools that build kernels: compilers, linkers and what reads their files."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence

from warpworld.errors import BuildError


def run_tool(command: Sequence[str], timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a tool, with messages in English: errors are looked for in them."""
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, timeout=timeout, env=environment
    )


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
