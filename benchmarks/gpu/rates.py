"""Highest rates of the device: bytes of a copy a second, and FLOP a second of products in float32 and bfloat16.

All floors are by these. They are torch's own copy and product, of sizes that no cache holds and that fill a large card.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from .clock import measure
from .part import Context

COPIED = {"cuda": 2**30, "cpu": 2**26}  # bytes of what is copied
SIDES = {"cuda": 8192, "cpu": 1024}  # rows and columns of both factors


def measure_rates(context: Context) -> None:
    """All three."""
    nbytes, side = context.size(COPIED[context.device], 2**16), context.size(SIDES[context.device], 64)
    source = torch.zeros(nbytes, dtype=torch.uint8, device=context.device)
    target = torch.empty_like(source)
    copy = 2 * nbytes / _seconds(context, lambda: target.copy_(source))
    float32, bf16 = (2 * side**3 / _product(context, side, dtype) for dtype in (torch.float32, torch.bfloat16))
    context.report(
        copied_bytes=nbytes,
        side=side,
        copy_bytes_per_s=copy,
        float32_flop_per_s=float32,
        bf16_flop_per_s=bf16,
        headline=f"copy {copy / 1e12:.3g} TB/s, float32 {float32 / 1e12:.3g} TFLOP/s, bf16 {bf16 / 1e12:.3g} TFLOP/s",
    )


def _product(context: Context, side: int, dtype: torch.dtype) -> float:
    """Seconds of a product of two square matrices, of random numbers: zeros may take less power."""
    one, other = (torch.randn(side, side, device=context.device, dtype=dtype) for _ in range(2))
    out = torch.empty_like(one)
    return _seconds(context, lambda: torch.mm(one, other, out=out))


def _seconds(context: Context, call: Callable[[], object]) -> float:
    """The best of several windows: a floor is of what the device can do."""
    return measure(call, context.device, *((0.001, 2) if context.quick else (0.1, 5))).best
