"""A linear layer and its relu as one operation: on a GPU, relu by itself reads and writes a wide layer once more."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from warpworld.policies.layers.bf16_layer import bf16_layer
from warpworld.policies.layers.bf16_products import takes_bf16


def linear_relu(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """``relu(x @ weight.T + bias)``; on a GPU what is NaN before the relu may be 0 behind it.

    Args:
        x: (..., inputs) float.
        weight: (outputs, inputs).
        bias: (outputs,).

    Returns:
        (..., outputs).
    """
    if takes_bf16(x, weight):
        return bf16_layer(x, weight, bias, "relu")
    if not _is_one_operation(x, weight):
        return F.relu(F.linear(x, weight, bias))
    return _LinearReLU.apply(x.reshape(-1, x.shape[-1]), weight, bias).view(*x.shape[:-1], -1)


def _is_one_operation(x: Tensor, weight: Tensor) -> bool:
    """Whether cuBLAS takes the relu along with the product: its epilogue for float32."""
    is_plain = torch.is_autocast_enabled(x.device.type) or torch.compiler.is_compiling()
    return x.is_cuda and not is_plain and x.dtype == weight.dtype == torch.float32 and x.numel() > 0


class _LinearReLU(torch.autograd.Function):
    """(rows, inputs) -> (rows, outputs)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        result = torch._addmm_activation(bias, x, weight.t())
        ctx.save_for_backward(x, weight, result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        x, weight, result = ctx.saved_tensors
        through = torch.ops.aten.threshold_backward(gradient, result, 0)
        at_x = through @ weight if ctx.needs_input_grad[0] else None
        return at_x, through.t() @ x, through.sum(0)
