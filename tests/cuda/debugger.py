"""gdb, driven by tests."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

SETUP = ("set breakpoint pending on", "maintenance set target-non-stop off", "set width 0")


@functools.cache
def why_no_gdb() -> str:
    """Why gdb cannot be driven here; empty if it can."""
    gdb = shutil.which("gdb")
    if gdb is None:
        return "gdb is not here"
    # conditions call functions of the process, which an older gdb cannot do on a processor with newer registers
    words = ("set breakpoint pending on", "break exit", "run", "print (int) getpid()", "kill")
    command = [gdb, "-nx", "--batch", *(part for word in words for part in ("-ex", word))]
    command += ["--args", sys.executable, "-c", ""]
    tried = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if "$1 = " in tried.stdout:
        return ""
    return f"gdb may not trace processes, or call their functions, here: {' '.join(tried.stderr.split()[-12:])}"


def gdb(commands: Sequence[str], program: Sequence[str], folder: Path, **environ: str) -> str:
    """What gdb and the program say, while these commands are carried out on a debug build.

    Args:
        commands: gdb's.
        program: what comes behind `python`.
        folder: to start in.
        environ: besides this process's environment.
    """
    if why_no_gdb():
        pytest.skip(why_no_gdb())
    words = [word for command in commands for word in ("-ex", command)]
    ours = {"WARPWORLD_DEBUG": "1", "WARPWORLD_CXXFLAGS": "", "DEBUGINFOD_URLS": ""}
    everything: Mapping[str, str] = {**os.environ, **ours, **environ}
    command = ["gdb", "-nx", "-q", "--batch", *words, "--args", sys.executable, *program]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=everything, cwd=folder
    )
    return result.stdout
