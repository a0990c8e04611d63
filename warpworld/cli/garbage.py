"""Python's garbage collector where a command starts and ends: looking at all that is imported and built takes long."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collected_later() -> Iterator[None]:
    """Collect no garbage in this context until ``collect_from_here`` is called in it."""
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.enable()


def collect_from_here() -> None:
    """Collect garbage again, but leave out what there is."""
    gc.freeze()
    gc.enable()


@functools.cache
def left_at_exit() -> None:
    """Leave the search for garbage out when the process ends."""
    atexit.register(gc.freeze)
