"""Time on a device: what a call takes from beginning to end, and what it takes the host to ask for it."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable

import torch

from ..clock import Timing

WARM_UP_CALLS = 3  # at least: kernels are loaded, graphs captured


def synchronise(device: str) -> None:
    """Wait until the device has done what it was asked for."""
    if device == "cuda":
        torch.cuda.synchronize()


def measure(call: Callable[[], object], device: str, seconds: float = 0.25, windows: int = 7) -> Timing:
    """Time a call from beginning to end, in windows of so many calls that they take ``seconds``.

    The device is idle before a window begins, and is waited for at its end.
    """
    once = _window(call, device, WARM_UP_CALLS)
    calls = max(1, math.ceil(seconds / 4 / once))
    once = min(once, _window(call, device, calls))  # now warm
    calls = max(1, math.ceil(seconds / once))
    times = [_window(call, device, calls) for _ in range(windows)]
    return Timing.of(times)


def measure_host(call: Callable[[], object], device: str, calls: int = 200, batches: int = 25) -> Timing:
    """Time what the host spends in a call that returns before the device is done.

    Few enough calls follow each other that they all find room in the device's queue.
    """
    times = []
    gc.collect()
    gc.disable()
    try:
        for batch in range(-2, batches):
            synchronise(device)
            start = time.perf_counter()
            for _ in range(calls):
                call()
            elapsed = time.perf_counter() - start
            synchronise(device)
            if batch >= 0:
                times.append(elapsed / calls)
    finally:
        gc.enable()
    return Timing.of(times)


def _window(call: Callable[[], object], device: str, calls: int) -> float:
    """Seconds of one call, mean over ``calls``."""
    synchronise(device)
    start = time.perf_counter()
    for _ in range(calls):
        call()
    synchronise(device)
    return (time.perf_counter() - start) / calls
