"""Processes that a part has started, found by a variable that all of them inherit, and ended.

Some of them lead sessions of their own, as the trials of a sweep do, so that a signal to the part's group misses them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

MARK = "WARPWORLD_GPU_PART"  # a variable; its value is the part's folder
ATTEMPTS = 20  # a process may start another while it is looked for


def end_marked(mark: str) -> None:
    """End all processes that inherited ``mark``, but for this one. Does nothing where there is no /proc."""
    for _ in range(ATTEMPTS):
        processes = _marked(mark)
        if not processes:
            return
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _marked(mark: str) -> list[int]:
    wanted, found = f"{MARK}={mark}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return [process for process in found if process != os.getpid()]
