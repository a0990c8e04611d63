"""Machine that a run was trained on."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from datetime import datetime, timezone
from pathlib import Path

from warpworld.files import read_file
from warpworld.version import __version__


def describe_machine(device: str) -> dict[str, str | int]:
    """Device, processor, versions and the time in UTC, as ``machine.json`` holds them."""
    return {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "device": device,
        "cpu": processor_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "platform": platform.platform(),
        "python": platform.python_version(),
        "torch": importlib.metadata.version("torch"),
        "numpy": importlib.metadata.version("numpy"),
        "warpworld": __version__,
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def newer_version(machine_path: Path) -> str:
    """The version of warpworld that the last session of a run had, if it is newer than this one; else ""."""
    try:
        version = json.loads(read_file(machine_path))[-1]["warpworld"]
        return str(version) if _release(version) > _release(__version__) else ""
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ""


def _release(version: str) -> list[int]:
    """``0.10.1`` as numbers that compare; ValueError or TypeError for what is no such text."""
    return [int(part) for part in version.split(".")]


def processor_name() -> str:
    """The processor's name, where the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
