"""Finds the host C++ compiler that the cpu backend builds kernels with."""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from warpworld.errors import BuildError

HOW_TO_GET_ONE = "install g++ or clang++, or run: pip install ziglang"


@dataclass(frozen=True)
class HostCompiler:
    """A C++17 compiler.

    Attributes:
        command: the words that start it.
        version: first line of what it says of itself.
        separate_link: objects are to be linked by ``link_command`` (zig's own link step would first build a C++ library).
        link_command: the linker, if ``separate_link``.
    """

    command: tuple[str, ...]
    version: str
    link_command: tuple[str, ...] = ()

    @property
    def separate_link(self) -> bool:
        """Whether compiling and linking are two commands."""
        return bool(self.link_command)


def _version(command: tuple[str, ...]) -> str | None:
    try:
        result = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = result.stdout.splitlines()
    return lines[0] if result.returncode == 0 and lines else None


def _zig() -> HostCompiler | None:
    if importlib.util.find_spec("ziglang") is None:
        return None
    zig = (sys.executable, "-m", "ziglang")
    version = _version((*zig, "c++"))
    return HostCompiler((*zig, "c++"), f"zig {version}", (*zig, "ld.lld")) if version else None


@functools.cache
def _find(wanted: str, path: str) -> HostCompiler:
    if wanted:
        command = tuple(shlex.split(wanted))
        version = _version(command)
        if version is None:
            raise BuildError(f"CXX={wanted!r} does not run; unset it, or {HOW_TO_GET_ONE}")
        is_zig = "zig" in Path(command[0]).name or "ziglang" in command
        return HostCompiler(command, version, (*command[:-1], "ld.lld") if is_zig else ())
    for name in ("g++", "clang++"):
        found = shutil.which(name, path=path)
        version = _version((found,)) if found else None
        if found and version:
            return HostCompiler((found,), version)
    zig = _zig()
    if zig is None:
        raise BuildError(f"no C++ compiler found (looked for $CXX, g++, clang++ and the ziglang package); {HOW_TO_GET_ONE}")
    return zig


def find_compiler() -> HostCompiler:
    """The compiler named by ``$CXX``, else g++, clang++ or the ziglang package, whichever is found first.

    Raises:
        BuildError: there is none, or the one named does not run.
    """
    return _find(os.environ.get("CXX", ""), os.environ.get("PATH", ""))
