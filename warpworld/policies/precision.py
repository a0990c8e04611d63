"""Products of networks in bfloat16: what is in float32 all the same, and where torch's autocast begins and ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

FLOAT32 = "float32"


def products(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Within it, networks multiply in a precision.

    With bf16, layers read their inputs and weights as bfloat16, add products up in float32, and give bfloat16, as
    torch's autocast has it; weights stay float32. Last layers are float32, see ``in_float32``, and with them what
    distributions and losses are made of. No weight is cast once for several uses: a CUDA graph would keep it as it was,
    and its gradients of all uses would be added up in bfloat16.

    Args:
        precision: float32 or bf16.
        device: that the networks lie on.
    """
    if precision == FLOAT32:
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16, cache_enabled=False)


def is_reduced(x: Tensor) -> bool:
    """Whether a layer that read ``x`` now would multiply in bfloat16."""
    return torch.is_autocast_enabled(x.device.type)


def widened(x: Tensor) -> Tensor:
    """``x`` as float32 if it has half as many bits, be it by a caller's own autocast."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def in_float32(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """What a layer makes of ``x`` in float32, whatever precision layers have: a network's last one."""
    if not is_reduced(x):
        return layer(x)
    with torch.autocast(x.device.type, enabled=False):
        return layer(widened(x))


def backward(loss: Tensor, inputs: Sequence[Tensor] | None = None) -> None:
    """``loss.backward``, with each product in the dtype that it had forward: autocast would reduce all of them.

    Args:
        loss: a scalar.
        inputs: the parameters whose gradients are wanted; None for all.
    """
    with torch.autocast(loss.device.type, enabled=False) if is_reduced(loss) else nullcontext():
        loss.backward(inputs=inputs)
