"""Flags for code for a GPU that no GPU runs: it is compiled to see that it can be."""

from __future__ import annotations

SINCE = (13, 0)  # of CUDA


def quick_flags(version: tuple[int, int]) -> tuple[str, ...]:
    """Return flags with which an nvcc refuses the same, in a third of the time for a long text.

    Args:
        version: of CUDA, for instance (13, 0).
    """
    return ("-Ofc", "max") if version >= SINCE else ()


def nvrtc_flags(version: tuple[int, int]) -> tuple[str, ...]:
    """Return the same for an NVRTC."""
    return ("--Ofast-compile=max",) if version >= SINCE else ()
