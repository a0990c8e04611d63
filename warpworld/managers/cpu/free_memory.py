"""Memory that the system can give."""

from __future__ import annotations

import re
from pathlib import Path

MEMORY = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def available_memory(memory: Path = MEMORY, cgroup: Path = CGROUP) -> int | None:
    """Bytes that can be had without swapping, within what this process's control group may have; None if unknown.

    Args:
        memory: Linux's account of the machine.
        cgroup: folder with the limit of the control group, and what it uses.
    """
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", memory.read_text(), re.MULTILINE)
    except OSError:
        return None
    free = int(found[1]) * 1024 if found else None
    try:
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        used -= _kept_files(cgroup / "memory.stat")
    except (OSError, ValueError):  # there is no limit, or no control group
        return free
    return max(limit - used, 0) if free is None else max(min(free, limit - used), 0)


def _kept_files(statistics: Path) -> int:
    """Bytes of files that the system keeps in memory and gives up when it is asked for more."""
    found = re.search(r"^inactive_file (\d+)$", statistics.read_text(), re.MULTILINE) if statistics.exists() else None
    return int(found[1]) if found else 0
