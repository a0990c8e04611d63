"""The precision of networks' products: float32, which no device rounds, TF32, or bfloat16 by torch's autocast."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from warpworld.policies.layers.bf16_head import bf16_head, takes_head

FLOAT32, TF32 = "float32", "tf32"

_is_chosen = ContextVar("_is_chosen", default=False)  # within ``products`` on a GPU


def products(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Context in which networks multiply in a precision; if one is within another, the outer one holds.

    torch lets cuDNN round what convolutions and recurrent layers read to TF32, which keeps 10 bits of a number's
    fraction, and other products not. Here float32 rounds nothing to it on a GPU, and tf32 all.

    With bf16, layers read their inputs and weights as bfloat16, add products up in float32, and give bfloat16, as
    torch's autocast has it; weights stay float32. Last layers are float32, see ``in_float32``, and with them what
    distributions and losses are made of. No weight is cast once for several uses: a CUDA graph would keep it as it was,
    and its gradients of all uses would be added up in bfloat16.

    Args:
        precision: float32, bf16, or on a GPU tf32.
        device: that the networks lie on.
    """
    if device.type == "cuda":
        return _products_on_gpu(precision)
    return nullcontext() if precision == FLOAT32 else _bf16(device.type)


def _bf16(device_type: str) -> AbstractContextManager[Any]:
    return torch.autocast(device_type, torch.bfloat16, cache_enabled=False)


@contextmanager
def _products_on_gpu(precision: str) -> Iterator[None]:
    """Set what torch has for the whole process, and set it back."""
    # inner calls change nothing
    if _is_chosen.get():
        yield
        return
    # settings for the call, and those of before
    cudnn = torch.backends.cudnn
    of_products, of_cudnn = torch.get_float32_matmul_precision(), cudnn.allow_tf32
    token = _is_chosen.set(True)
    try:
        torch.set_float32_matmul_precision("high" if precision == TF32 else "highest")
        cudnn.allow_tf32 = precision == TF32
        with _bf16("cuda") if precision == "bf16" else nullcontext():
            yield
    finally:
        torch.set_float32_matmul_precision(of_products)
        cudnn.allow_tf32 = of_cudnn
        _is_chosen.reset(token)


def is_reduced(x: Tensor) -> bool:
    """Whether a layer that read ``x`` now would multiply in bfloat16."""
    return torch.is_autocast_enabled(x.device.type)


def widened(x: Tensor) -> Tensor:
    """``x`` as float32 if it has half as many bits, be it by a caller's own autocast."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def in_float32(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Output of a layer for ``x`` in float32, whatever precision layers have: a network's last one."""
    if not is_reduced(x):
        return layer(x)
    if type(layer) is nn.Linear and layer.bias is not None and takes_head(x, layer.weight):
        return bf16_head(x, layer.weight, layer.bias)
    with torch.autocast(x.device.type, enabled=False):
        return layer(widened(x))


def gradients_of(
    tensors: Sequence[Tensor], parameters: Sequence[Tensor], gradients: Sequence[Tensor] | None = None
) -> Sequence[Tensor | None]:
    """``torch.autograd.grad``, with each product in the dtype that it had forward: autocast would reduce all of them.

    Args:
        tensors: on one device; what depends on no parameter is left out.
        parameters: whose gradients are wanted.
        gradients: of a loss at each of the tensors; None where these are losses themselves.

    Returns:
        One like each parameter; None for those that no tensor depends on.
    """
    seeds = [None] * len(tensors) if gradients is None else gradients
    pairs = [pair for pair in zip(tensors, seeds, strict=True) if pair[0].requires_grad]
    if not pairs or not parameters:
        return [None] * len(parameters)
    with _in_their_dtypes(tensors[0]):
        return torch.autograd.grad(
            [tensor for tensor, _ in pairs], parameters, [seed for _, seed in pairs], allow_unused=True
        )


def _in_their_dtypes(x: Tensor) -> AbstractContextManager[Any]:
    return torch.autocast(x.device.type, enabled=False) if is_reduced(x) else nullcontext()
