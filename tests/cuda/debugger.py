"""gdb, driven by tests."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

SETUP = ("set breakpoint pending on", "maintenance set target-non-stop off", "set width 0")
WHOLE_REGISTERS = Path(__file__).parent / "whole_registers.c"  # what an older gdb needs where there is AMX
HIDDEN = "unset environment LD_PRELOAD"  # the preloaded library is for gdb and not for the program


@functools.cache
def why_no_gdb() -> str:
    """Why gdb cannot be driven here; empty if it can."""
    return _found()[1]


@functools.cache
def _found() -> tuple[Mapping[str, str], str]:
    """What gdb's environment needs so that it can call functions of a process, and why it cannot at all."""
    if shutil.which("gdb") is None:
        return {}, "gdb is not here"
    problem = _why_no_calls({})
    if not problem or (library := _whole_registers()) is None:
        return {}, problem
    preloaded = {"LD_PRELOAD": str(library)}
    return preloaded, _why_no_calls(preloaded)


def _why_no_calls(environ: Mapping[str, str]) -> str:
    """Why gdb cannot call functions of a process; empty if it can."""
    words = ("set breakpoint pending on", HIDDEN, "break exit", "run", "print (int) getpid()", "kill")
    command = ["gdb", "-nx", "--batch", *(part for word in words for part in ("-ex", word))]
    command += ["--args", sys.executable, "-c", ""]
    tried = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **environ}
    )
    if "$1 = " in tried.stdout:
        return ""
    return f"gdb may not trace processes, or call their functions, here: {' '.join(tried.stderr.split()[-12:])}"


def _whole_registers() -> Path | None:
    """The library, compiled; None where it does not compile."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    library = Path(tempfile.mkdtemp(prefix="warpworld-gdb-")) / "whole_registers.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(WHOLE_REGISTERS), "-ldl"]
    done = subprocess.run(command, capture_output=True, check=False)
    return library if done.returncode == 0 else None


def gdb(commands: Sequence[str], program: Sequence[str], folder: Path, **environ: str) -> str:
    """What gdb and the program print, while these commands are carried out on a debug build.

    Args:
        commands: gdb's.
        program: what comes behind `python`.
        folder: to start in.
        environ: besides this process's environment.
    """
    if why_no_gdb():
        pytest.skip(why_no_gdb())
    words = [word for command in (HIDDEN, *commands) for word in ("-ex", command)]
    ours = {"WARPWORLD_DEBUG": "1", "WARPWORLD_KERNELFLAGS": "", "DEBUGINFOD_URLS": ""}
    everything: Mapping[str, str] = {**os.environ, **_found()[0], **ours, **environ}
    command = ["gdb", "-nx", "-q", "--batch", *words, "--args", sys.executable, *program]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=everything, cwd=folder
    )
    return result.stdout
