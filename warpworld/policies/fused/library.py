"""The compiled C++ of this folder."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from warpworld.errors import BuildError
from warpworld.managers.cpu import NativeLibrary

SOURCE = Path(__file__).resolve().parent / "fused.cpp"


@functools.cache
def library() -> NativeLibrary:
    """Compiled once per machine.

    Raises:
        BuildError: it does not compile here.
    """
    return NativeLibrary(SOURCE)


@functools.cache
def found_library() -> NativeLibrary | None:
    """Return the library as ``library`` does, or None if it does not compile."""
    try:
        return library()
    except BuildError:
        return None


def multiplies_pairs() -> bool:
    """Whether the processor multiplies pairs of bfloat16 for it; elsewhere they take longer than floats.

    Raises:
        BuildError: it does not compile here.
    """
    return bool(library().function("fused_has_pairs", returns=ctypes.c_int)())
