"""Headers of the system that every kernel includes, compiled once: g++ then reads a small kernel in half the time."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from warpworld.errors import BuildError
from warpworld.managers import INCLUDE_FOLDER
from warpworld.managers.build_cache import cache_folder, cached, content_key
from warpworld.managers.cpu.host_compiler import find_compiler, kernel_flags

C_MATH = INCLUDE_FOLDER / "cpu" / "cuda" / "c_math.hpp"  # before all others: it leaves out what takes longest to read
HEADERS = ("assert.h", "stdarg.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h", "utility")
TEXT = "".join([f'#include "{C_MATH}"\n', *(f"#include <{name}>\n" for name in HEADERS)])


def use_precompiled_headers() -> None:
    """Name g++, with what it has made of the headers, in ``$CXX``, unless that names a compiler already.

    Where flags do not fit, g++ reads the headers' text. Other compilers, which tests name themselves, read the headers
    as kernels include them, so that none may be missing there. Keys of the build cache do not change.
    """
    try:
        compiler = find_compiler()
    except BuildError:  # which tests report
        return
    if "CXX" in os.environ or Path(compiler.command[0]).name != "g++":
        return
    flags = compiler.all_flags(kernel_flags())
    key = content_key(["precompiled headers", TEXT, C_MATH.read_bytes(), compiler.version, *flags])

    def build(scratch: Path, target: Path) -> None:
        if log := compiler.build_object(TEXT, ["-x", "c++-header", *kernel_flags()], [], scratch, target):
            raise BuildError(f"the headers of kernels do not compile with {compiler.version}", log)

    made = cached(key, ".hpp.gch", build)
    header = cache_folder() / f"{key}.hpp"
    if not header.exists():
        header.write_text(TEXT)
    os.environ["CXX"] = shlex.join([*compiler.command, "-include", str(header)])
    assert made.name == f"{header.name}.gch"  # where g++ looks for it
