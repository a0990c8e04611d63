"""A linear layer and its relu as one operation: on a GPU, relu by itself reads and writes a wide layer once more."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from warpworld.policies.layers.bf16_layer import bf16_layer
from warpworld.policies.layers.bf16_products import takes_bf16
from warpworld.policies.layers.gpu_layer import LayerBackward, gpu_layer, in_float32_on_gpu


def linear_relu(x: Tensor, weight: Tensor, bias: Tensor, kernels: LayerBackward | None = None) -> Tensor:
    """``relu(x @ weight.T + bias)``; on a GPU what is NaN before the relu may be 0 behind it.

    Args:
        x: (..., inputs) float.
        weight: (outputs, inputs).
        bias: (outputs,).
        kernels: for the way back on a GPU; None leaves it to torch.

    Returns:
        (..., outputs).
    """
    if takes_bf16(x, weight):
        return bf16_layer(x, weight, bias, "relu")
    if in_float32_on_gpu(x, weight):
        return gpu_layer(x, weight, bias, "relu", kernels)
    return F.relu(F.linear(x, weight, bias))
