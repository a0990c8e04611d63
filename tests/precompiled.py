"""Headers of the system that every kernel includes, compiled once: g++ then reads a small kernel in half the time."""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path

from warpworld.errors import BuildError
from warpworld.managers import INCLUDE_FOLDER
from warpworld.managers.build_cache import cached, content_key
from warpworld.managers.cpu.host_compiler import HostCompiler, find_compiler, kernel_flags

# Before all others: it leaves out what takes longest to read. Its text, since another checkout lies elsewhere.
C_MATH = (INCLUDE_FOLDER / "cpu" / "cuda" / "c_math.hpp").read_text().replace("#pragma once\n", "")
HEADERS = ("assert.h", "stdarg.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h", "utility")
TEXT = "".join([C_MATH, *(f"#include <{name}>\n" for name in HEADERS)])


def use_precompiled_headers() -> None:
    """Name g++, with what it has made of the headers, in ``$CXX``, unless that names a compiler already.

    Where flags do not fit, g++ reads the headers' text. Other compilers, which tests name themselves, read the headers
    as kernels include them, so that none may be missing there. Keys of the build cache do not change. Tests report what
    keeps kernels from being compiled at all.
    """
    if "CXX" not in os.environ:
        with contextlib.suppress(BuildError):
            compiler = find_compiler()
            if Path(compiler.command[0]).name == "g++":
                os.environ["CXX"] = shlex.join([*compiler.command, "-include", str(_precompiled(compiler))])


def _precompiled(compiler: HostCompiler) -> Path:
    """A header beside which g++ finds what it has made of it, for the flags of kernels."""
    flags = kernel_flags()
    key = content_key(["precompiled headers", TEXT, compiler.version, *compiler.all_flags(flags)])

    def build(scratch: Path, target: Path) -> None:
        if log := compiler.build_object(TEXT, ["-x", "c++-header", *flags], [], scratch, target):
            raise BuildError(f"the headers of kernels do not compile with {compiler.version}", log)

    header = cached(key, ".hpp.gch", build).with_suffix("")
    if not header.exists():
        header.write_text(TEXT)
    return header
