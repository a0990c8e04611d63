"""A last layer on a GPU whose numbers are those of float32, by products of bfloat16."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from warpworld.policies.layers.bf16_products import (
    BF16,
    columns_of,
    filled,
    product,
    product_over_rows,
    rounded_up,
    takes_bf16,
)

LEAST_NUMBERS = 2**21  # in what the layer reads: with fewer, float32 takes less time, in fewer kernels (an estimate)


def takes_head(x: Tensor, weight: Tensor) -> bool:
    """Whether ``bf16_head`` is for a last layer that reads ``x``, (..., inputs), with weights (outputs, inputs)."""
    return x.dtype == BF16 and x.numel() >= LEAST_NUMBERS and takes_bf16(x, weight)


def bf16_head(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``x @ weight.T + bias`` in float32 for an ``x`` of bfloat16.

    A weight is the sum of two numbers of bfloat16, which leaves it 16 bits; products are exact and added up in float32.

    Args:
        x: (..., inputs) bfloat16.
        weight: (outputs, inputs) float32.
        bias: (outputs,) float32.

    Returns:
        (..., outputs) float32. The gradient of ``x`` is bfloat16, and the others are float32.
    """
    return _Bf16Head.apply(x.reshape(-1, x.shape[-1]), weight, bias).view(*x.shape[:-1], -1)


class _Bf16Head(torch.autograd.Function):
    """(rows, inputs) -> (rows, outputs)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        outputs = len(weight)
        with torch.autocast(x.device.type, enabled=False):
            read = filled(x, columns_of(x), 0.0)
            halves = halved(weight.t(), read.shape[1])
            sums = product(read, halves)
            result = torch.add(sums[:, :outputs], sums[:, outputs : 2 * outputs]).add_(bias)
        ctx.save_for_backward(read, halves)
        ctx.shape = weight.shape
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        read, halves = ctx.saved_tensors
        outputs, features = ctx.shape
        with torch.autocast(gradient.device.type, enabled=False):
            parts = halved(gradient, len(gradient))
            sums = product_over_rows(parts, read)
            at_weight = (sums[:outputs] + sums[outputs : 2 * outputs])[:, :features]
            at_x = (parts @ _twice(halves, outputs).t())[:, :features] if ctx.needs_input_grad[0] else None
            at_bias = gradient.sum(0)
        return at_x, at_weight, at_bias


def halved(matrix: Tensor, rows: int) -> Tensor:
    """Two numbers of bfloat16 for each of a matrix: the number rounded, and what rounding it lost.

    Args:
        matrix: (n, columns) float32.
        rows: of the result, at least n.

    Returns:
        (rows, ``rounded_up(2 * columns)``) bfloat16: first all rounded numbers, then what they lack, and zeros.
    """
    n, columns = matrix.shape
    parts = matrix.new_empty((rows, rounded_up(2 * columns)), dtype=BF16)
    high = parts[:n, :columns].copy_(matrix)
    torch.sub(matrix, high, out=parts[:n, columns : 2 * columns])
    parts[:, 2 * columns :].zero_()
    parts[n:].zero_()
    return parts


def _twice(halves: Tensor, columns: int) -> Tensor:
    """The rounded numbers in place of both halves, (rows, 2 * columns and zeros): a gradient's halves meet the same."""
    high, rest = halves[:, :columns], halves[:, 2 * columns :]
    return torch.cat((high, high, rest), 1)
