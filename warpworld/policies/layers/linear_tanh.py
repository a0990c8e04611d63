"""A linear layer and its tanh as one operation: on the cpu, torch's own tanh costs more than the product before it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from warpworld.policies.layers.bf16_layer import bf16_layer
from warpworld.policies.layers.bf16_products import takes_bf16
from warpworld.policies.layers.gpu_layer import LayerBackward, gpu_layer, in_float32_on_gpu
from warpworld.policies.layers.linear_relu import linear_relu
from warpworld.policies.layers.precision import in_float32

Pointwise = Callable[..., Tensor]
APART = [False]  # whether a layer and its tanh are two operations on the cpu, too
PROBE_ERROR = 1e-5  # of numbers around 1; a product in bfloat16 would be off by more than 1e-3


def run_layers(layers: nn.Sequential, x: Tensor) -> Tensor:
    """``layers(x)``, quicker; a linear layer at the end is float32 in any precision.

    (..., inputs) -> (..., outputs).
    """
    modules = list(layers)
    i = 0
    while i < len(modules):
        layer = modules[i]
        behind = type(modules[i + 1]) if i + 1 < len(modules) else None
        if type(layer) is nn.Linear and layer.bias is not None and behind in (nn.Tanh, nn.ReLU):
            joined = linear_tanh if behind is nn.Tanh else linear_relu
            x = joined(x, layer.weight, layer.bias, getattr(layer, "backward_kernels", None))
            i += 2
        else:
            is_head = type(layer) is nn.Linear and i + 1 == len(modules)
            x = in_float32(layer, x) if is_head else layer(x)
            i += 1
    return x


def linear_tanh(x: Tensor, weight: Tensor, bias: Tensor, kernels: LayerBackward | None = None) -> Tensor:
    """``tanh(x @ weight.T + bias)``.

    Args:
        x: (..., inputs) float.
        weight: (outputs, inputs).
        bias: (outputs,).
        kernels: for the way back on a GPU; None leaves it to torch.

    Returns:
        (..., outputs).
    """
    if takes_bf16(x, weight):
        return bf16_layer(x, weight, bias, "tanh")
    if kernels is not None and in_float32_on_gpu(x, weight):
        return gpu_layer(x, weight, bias, "tanh", kernels)
    on_cpu = x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32 and x.numel() > 0
    is_plain = torch.is_autocast_enabled("cpu") or torch.compiler.is_compiling()  # a graph for other programs to run
    if not on_cpu or is_plain or APART[0] or pointwise() is None:
        return torch.tanh(F.linear(x, weight, bias))
    return _LinearTanh.apply(x.reshape(-1, x.shape[-1]), weight, bias).view(*x.shape[:-1], -1)


@contextmanager
def tanh_apart() -> Iterator[None]:
    """Let a linear layer and its tanh be two operations on the cpu meanwhile, as they are on a GPU, for a forecast."""
    before, APART[0] = APART[0], True
    try:
        yield
    finally:
        APART[0] = before


@functools.cache
def pointwise() -> Pointwise | None:
    """OneDNN's linear layer with what follows it, or None where this torch has none, or one that gives other numbers.

    The operator is torch's own affair, not part of its interface.
    """
    try:
        operator: Pointwise = torch.ops.mkldnn._linear_pointwise
        generator = torch.Generator().manual_seed(0)
        x, weight, bias = (torch.randn(shape, generator=generator) for shape in ((33, 7), (5, 7), (5,)))
        found = operator(x, weight, bias, "tanh", [], ""), operator(x, weight, None, "none", [], "")
    except (AttributeError, RuntimeError, TypeError):
        return None
    product = x.double() @ weight.double().T
    expected = torch.tanh(product + bias), product
    errors = [float((mine - right).abs().max()) for mine, right in zip(found, expected, strict=True)]
    return operator if max(errors) < PROBE_ERROR else None


class _LinearTanh(torch.autograd.Function):
    """(rows, inputs) -> (rows, outputs)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        operator = pointwise()
        assert operator is not None
        result = operator(x, weight, bias, "tanh", [], "")
        ctx.save_for_backward(x, weight, result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        operator = pointwise()
        assert operator is not None
        x, weight, result = ctx.saved_tensors
        through = torch.ops.aten.tanh_backward(gradient, result)
        at_x = operator(through, weight.t(), None, "none", [], "") if ctx.needs_input_grad[0] else None
        return at_x, through.t() @ x, through.sum(0)
