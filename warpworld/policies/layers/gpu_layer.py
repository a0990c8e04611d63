"""A linear layer and its activation in float32 on a GPU, whose kernels may take what torch needs several for."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

Activation = Literal["relu", "tanh", "none"]


class LayerBackward(Protocol):
    """Kernels for the way back through a linear layer of some size and its activation."""

    def takes(self, gradient: Tensor) -> bool:
        """Whether they are for as many rows as ``gradient`` has."""

    def __call__(
        self, gradient: Tensor, said: Tensor, x: Tensor, is_needed: bool
    ) -> tuple[Tensor | None, Tensor, Tensor]:
        """Gradients before the activation, of the weights and of the biases.

        Args:
            gradient: (rows, outputs) float32, behind the activation.
            said: (rows, outputs) float32, what the layer and its activation gave.
            x: (rows, inputs) float32, what the layer read.
            is_needed: whether the first of them is; it is None where not.
        """


def gpu_layer(
    x: Tensor, weight: Tensor, bias: Tensor, activation: Activation, kernels: LayerBackward | None = None
) -> Tensor:
    """``activation(x @ weight.T + bias)``.

    Args:
        x: (..., inputs) float32.
        weight: (outputs, inputs) float32.
        bias: (outputs,) float32.
        activation: behind the product; a relu may make 0 of what is NaN before it.
        kernels: for the way back; None leaves it to torch.

    Returns:
        (..., outputs) float32.
    """
    return _GpuLayer.apply(x.reshape(-1, x.shape[-1]), weight, bias, activation, kernels).view(*x.shape[:-1], -1)


def in_float32_on_gpu(x: Tensor, weight: Tensor) -> bool:
    """Whether a layer that reads ``x`` now is one of float32 on a GPU, and is run rather than traced."""
    is_plain = torch.is_autocast_enabled(x.device.type) or torch.compiler.is_compiling()
    return x.is_cuda and not is_plain and x.dtype == weight.dtype == torch.float32 and x.numel() > 0


class _GpuLayer(torch.autograd.Function):
    """(rows, inputs) -> (rows, outputs)."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, activation: Activation, kernels: LayerBackward | None
    ) -> Tensor:
        if activation == "relu":
            result = torch._addmm_activation(bias, x, weight.t())  # cuBLAS takes the relu along with the product
        else:
            result = F.linear(x, weight, bias)
            result = result.tanh_() if activation == "tanh" else result
        ctx.save_for_backward(x, weight, result)
        ctx.activation, ctx.kernels = activation, kernels
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None, None]:
        x, weight, result = ctx.saved_tensors
        needed = ctx.needs_input_grad[0]
        if ctx.kernels is not None and ctx.kernels.takes(gradient):
            through, at_weight, at_bias = ctx.kernels(gradient.contiguous(), result, x.contiguous(), needed)
        else:
            through = before_activation(gradient, result, ctx.activation)
            at_weight, at_bias = through.t() @ x, through.sum(0)
        return through @ weight if needed else None, at_weight, at_bias, None, None


def before_activation(gradient: Tensor, result: Tensor | None, activation: Activation) -> Tensor:
    """Gradient before an activation.

    Args:
        gradient: behind it.
        result: what it gave, of the same shape; None where there is none.
        activation: which one.
    """
    if activation == "relu":
        return torch.ops.aten.threshold_backward(gradient, result, 0)
    return torch.ops.aten.tanh_backward(gradient, result) if activation == "tanh" else gradient
