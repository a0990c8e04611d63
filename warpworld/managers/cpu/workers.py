"""Number of threads that step envs."""

from __future__ import annotations

import os
from pathlib import Path

MAX_WORKERS = 128  # WW_MAX_WORKERS of cuda/cpu/abi.hpp

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # a container's: microseconds of processor time, in so many


def available_cores() -> int:
    """Cores that this process may use: those it may run on, as far as a container's share of time goes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = CPU_QUOTA.read_text().split()
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max": no limit
        return cores
