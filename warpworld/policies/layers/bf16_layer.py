"""A linear layer and its activation in bfloat16 on a GPU, as torch's autocast has it but for rounding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from warpworld.policies.layers.bf16_products import BF16, columns_beside_ones, filled, product_over_rows
from warpworld.policies.layers.gpu_layer import Activation, before_activation


def bf16_layer(x: Tensor, weight: Tensor, bias: Tensor, activation: Activation) -> Tensor:
    """``activation(x @ weight.T + bias)``, multiplied in bfloat16.

    Args:
        x: (..., inputs) float32 or bfloat16.
        weight: (outputs, inputs) float32.
        bias: (outputs,) float32.
        activation: behind the product; a relu may make 0 of what is NaN before it.

    Returns:
        (..., outputs) bfloat16; gradients have the dtypes of what they belong to.
    """
    return _Bf16Layer.apply(x.reshape(-1, x.shape[-1]), weight, bias, activation).view(*x.shape[:-1], -1)


class _Bf16Layer(torch.autograd.Function):
    """(rows, inputs) -> (rows, outputs).

    Columns that fill up ``x`` are ones and those of the weights zeros: the product is the same, and in the gradient of
    the weights a column of ones gives the gradient of the bias.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, activation: Activation) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            columns, offset = columns_beside_ones(x), bias.to(BF16)
            read, weights = filled(x, columns, 1.0), filled(weight, columns, 0.0)
            if activation == "relu":
                result = torch._addmm_activation(offset, read, weights.t())  # relu is part of the product
            else:
                result = torch.addmm(offset, read, weights.t())
                result = result.tanh_() if activation == "tanh" else result
        ctx.save_for_backward(read, weights, None if activation == "none" else result)
        ctx.activation, ctx.features, ctx.dtype = activation, x.shape[1], x.dtype
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None]:
        read, weights, result = ctx.saved_tensors
        features, is_filled = ctx.features, read.shape[1] > ctx.features
        with torch.autocast(gradient.device.type, enabled=False):
            through = before_activation(gradient, result, ctx.activation)
            at_weight = product_over_rows(through, read)
            at_bias = at_weight[:, features] if is_filled else through.sum(0, dtype=torch.float32)
            at_x = (through @ weights)[:, :features].to(ctx.dtype) if ctx.needs_input_grad[0] else None
        return at_x, at_weight[:, :features], at_bias, None
