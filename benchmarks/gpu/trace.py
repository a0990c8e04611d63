"""What the device did while something ran, as torch's profiler saw it."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .clock import synchronise

CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
HOST_CATEGORIES = ("cuda_runtime", "cuda_driver")
ASKS = tuple(f"{library}{what}" for library in ("cuda", "cu") for what in ("Launch", "GraphLaunch", "Memcpy", "Memset"))


@dataclass(frozen=True)
class Event:
    """One thing that the device did.

    Attributes:
        name: of the kernel, or of the copy.
        category: "kernel", "gpu_memcpy" or "gpu_memset".
        start: seconds.
        end: seconds.
    """

    name: str
    category: str
    start: float
    end: float


def record(call: Callable[[], object], device: str) -> tuple[list[Event], float, int]:
    """Run ``call`` under the profiler and wait for the device.

    Returns:
        What the device did, in order, empty where it cannot be seen; the seconds of the call, with the waiting; and how
        often the host asked for something: a graph, a kernel, a copy.
    """
    from torch.profiler import ProfilerActivity, profile, supported_activities

    if ProfilerActivity.CUDA not in supported_activities():
        return [], 0.0, 0
    synchronise(device)
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        start = time.perf_counter()
        call()
        synchronise(device)
        seconds = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        trace = json.loads(path.read_text())
        return read_events(trace), seconds, host_calls(trace)


def read_events(trace: dict[str, Any]) -> list[Event]:
    """The device's events of a trace in Chrome's format, in order."""
    found = [
        Event(entry["name"], entry["cat"], entry["ts"] * 1e-6, (entry["ts"] + entry["dur"]) * 1e-6)
        for entry in trace["traceEvents"]
        if entry.get("ph") == "X" and entry.get("cat") in CATEGORIES
    ]
    return sorted(found, key=lambda event: event.start)


def host_calls(trace: dict[str, Any]) -> int:
    """How often the host of a trace in Chrome's format asked the device for a graph, a kernel or a copy."""
    asked = (entry for entry in trace["traceEvents"] if entry.get("cat") in HOST_CATEGORIES)
    return sum(entry["name"].startswith(ASKS) for entry in asked)


def busy(events: Iterable[Event]) -> float:
    """Seconds in which at least one of the events, which are in order, was under way."""
    total, end = 0.0, float("-inf")
    for event in events:
        total += max(0.0, event.end - max(event.start, end))
        end = max(end, event.end)
    return total


def largest_gap(events: Iterable[Event]) -> float:
    """The longest time in seconds between two events, which are in order, with nothing under way."""
    largest, end = 0.0, None
    for event in events:
        if end is not None:
            largest = max(largest, event.start - end)
        end = event.end if end is None else max(end, event.end)
    return largest
