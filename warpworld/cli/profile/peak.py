"""Peak rates of a machine, measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

SIDE = 1024  # of the matrices of the product
COPIED = 1 << 26  # bytes; more than most caches hold
REPEATS = 7


@dataclass(frozen=True)
class Peak:
    """Peak rates, measured on as many threads as torch has.

    Attributes:
        operations: of a float32 product of two matrices of 1,024 x 1,024, per second.
        nbytes: read and written by a copy of 64 MiB, per second.
    """

    operations: float
    nbytes: float


def measure_peak(device: torch.device, wait: Callable[[], None]) -> Peak:
    """Time a product and a copy; the fastest of some runs counts, since other programs only ever make them slower.

    Args:
        device: where.
        wait: for the device.
    """
    one, other = (torch.rand(SIDE, SIDE, device=device) for _ in range(2))
    product = torch.empty_like(one)
    source = torch.zeros(COPIED, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return Peak(
        operations=2 * SIDE**3 / _fastest(lambda: torch.mm(one, other, out=product), wait),
        nbytes=2 * COPIED / _fastest(lambda: target.copy_(source), wait),
    )


def _fastest(run: Callable[[], object], wait: Callable[[], None]) -> float:
    seconds = []
    for _ in range(REPEATS):
        wait()
        began = time.perf_counter()
        run()
        wait()
        seconds.append(time.perf_counter() - began)
    return min(seconds)
