"""The time at which this process started, which is seconds before its first line of Python ran."""

from __future__ import annotations

import os
import time
from pathlib import Path

STATUS = Path("/proc/self/stat")
MOST = 120.0  # seconds that imports may take; where /proc claims more, it does not have the time
START_FIELD = 19  # of those behind the command's name: "starttime" of proc(5), in ticks since the machine started


def process_start() -> float:
    """The value that ``time.perf_counter()`` had when the process started."""
    return time.perf_counter() - _age()


def _age() -> float:
    """Seconds since the process started; its processor time where the system does not say."""
    try:
        ticks = int(STATUS.read_text().rpartition(")")[2].split()[START_FIELD])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):  # not Linux
        age = -1.0
    return age if 0.0 <= age <= MOST else time.process_time()
