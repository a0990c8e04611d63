"""Lanes of the cpu backend's runtime: a thread that learns need not take turns with those that step worlds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from warpworld.managers.cpu.native_runtime import runtime

STEPPING, LEARNING = 0, 1


def learn_in_this_thread() -> None:
    """Let this thread's C++ and kernels run beside those of all other threads; at most one thread may.

    What runs at the same time in both lanes must be different kernels, on different arrays.
    """
    runtime().ww_use_lane(LEARNING)


def set_busy(lane: int, is_busy: bool) -> None:
    """Say whether the threads of a lane compute; while both lanes do, each leaves a core to the other."""
    runtime().ww_set_busy(lane, int(is_busy))


@contextmanager
def busy(lane: int) -> Iterator[None]:
    """A context in which a lane computes."""
    set_busy(lane, True)
    try:
        yield
    finally:
        set_busy(lane, False)
