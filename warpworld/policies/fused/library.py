"""The compiled C++ of this folder."""

from __future__ import annotations

import functools
from pathlib import Path

from warpworld.managers.cpu.native_library import NativeLibrary

SOURCE = Path(__file__).resolve().parent / "fused.cpp"


@functools.cache
def library() -> NativeLibrary:
    """Compiled once per machine.

    Raises:
        BuildError: it does not compile here.
    """
    return NativeLibrary(SOURCE)
