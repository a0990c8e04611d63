"""Products of bfloat16 on a GPU: operands in the layout that cuBLAS is quick with, and sums that stay float32."""

from __future__ import annotations

import torch
from torch import Tensor

BF16 = torch.bfloat16
ALIGNED = 8  # numbers in 16 bytes: where rows begin elsewhere, cuBLAS has slower kernels
LEAST_NUMBERS = 2**18  # in what a layer reads: with fewer, filling up rows would cost more than it saves (an estimate)
PARTS, LEAST_ROWS = 64, 4096  # of a sum over rows: parts that are added up apart, and rows in each
PROBE_ERROR = 1e-4  # relative to the largest number; a product rounded to bfloat16 is off by more than 1e-3
ROUNDING = 2.0**-7  # relative: twice what one rounding to bfloat16 may change a number by

_sound: dict[torch.device, bool] = {}


def takes_bf16(x: Tensor, weight: Tensor) -> bool:
    """Whether a layer that reads ``x`` now multiplies in bfloat16 with the functions below: on a GPU, by autocast.

    Args:
        x: (..., inputs), what the layer reads.
        weight: (outputs, inputs), the layer's.
    """
    if not _on_gpu(x) or torch.compiler.is_compiling() or x.numel() == 0:  # a graph for other programs to run
        return False
    is_usual = x.dtype in (torch.float32, BF16) and weight.dtype == torch.float32
    return reduces_to_bf16(x) and is_usual and is_sound(x.device)


def reduces_to_bf16(x: Tensor) -> bool:
    """Whether a layer that read ``x`` now would multiply in bfloat16, and not in float16 by a caller's own autocast."""
    kind = x.device.type
    return torch.is_autocast_enabled(kind) and torch.get_autocast_dtype(kind) == BF16


def _on_gpu(x: Tensor) -> bool:
    return x.is_cuda


def rounded_up(columns: int) -> int:
    """The next multiple of ``ALIGNED``."""
    return -(-columns // ALIGNED) * ALIGNED


def columns_of(x: Tensor) -> int:
    """Columns with which a layer is to read ``x``, (rows, inputs): its own, or filled up to whole 16 bytes."""
    return rounded_up(x.shape[1]) if x.numel() >= LEAST_NUMBERS else x.shape[1]


def columns_beside_ones(x: Tensor) -> int:
    """As ``columns_of``, with one more at least for a column of ones if ``x`` is copied in any case: it is float32."""
    is_copied = x.dtype != BF16 and x.numel() >= LEAST_NUMBERS
    return rounded_up(x.shape[1] + 1) if is_copied else columns_of(x)


def filled(matrix: Tensor, columns: int, fill: float) -> Tensor:
    """A matrix in bfloat16, with further columns behind.

    Args:
        matrix: (rows, n) float32 or bfloat16.
        columns: of the result, at least n.
        fill: number in the columns that are added.

    Returns:
        (rows, columns) bfloat16; ``matrix`` itself if it is that already.
    """
    n = matrix.shape[1]
    if columns == n:
        return matrix.to(BF16)
    result = matrix.new_empty((len(matrix), columns), dtype=BF16)
    result[:, :n].copy_(matrix)  # the conversion is part of this copy
    result[:, n:].fill_(fill)
    return result


def product(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` in float32: (m, k) and (k, n) bfloat16 -> (m, n)."""
    return torch.mm(a, b, out_dtype=torch.float32)


def batched_product(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` in float32 for each of several pairs: (p, m, k) and (p, k, n) bfloat16 -> (p, m, n)."""
    return torch.bmm(a, b, out_dtype=torch.float32)


def product_over_rows(a: Tensor, b: Tensor) -> Tensor:
    """``a.T @ b`` in float32, where rows may be millions: (rows, m) and (rows, n) bfloat16 -> (m, n).

    Parts of the rows are added up apart, then their sums: such a result has too few tiles to occupy a GPU, and one sum
    over all rows would lose more to rounding.
    """
    rows = len(a)
    if rows % PARTS or rows < PARTS * LEAST_ROWS:
        return product(a.t(), b)
    first, second = (each.unflatten(0, (PARTS, rows // PARTS)) for each in (a, b))
    return batched_product(first.transpose(1, 2), second).sum(0)


def is_sound(device: torch.device) -> bool:
    """Whether torch has the operators on a device and their numbers are right; found out once.

    Some of them are torch's own affair, not part of its interface, others are new in torch 2.8. While a CUDA graph is
    captured nothing can be read back: the answer is then no, unless it is known.
    """
    if device not in _sound:
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return False
        _sound[device] = _are_right(device)
    return _sound[device]


@torch.no_grad()
def _are_right(device: torch.device) -> bool:
    generator = torch.Generator().manual_seed(0)
    x, weight, offset = (torch.randn(shape, generator=generator).to(BF16) for shape in ((48, 24), (16, 24), (16,)))
    exact = x.double() @ weight.double().t()
    on_device = x.to(device), weight.to(device), offset.to(device)
    try:
        with torch.autocast(device.type, enabled=False):
            found = _found(*on_device)
    except (AttributeError, RuntimeError, TypeError):  # no such operator, or none for bfloat16
        return False
    one, turned, several, activated = (each.double().cpu() for each in found)
    sums = (one - exact, turned - exact.t(), several - torch.stack((exact, exact)))
    activation = torch.relu(exact + offset.double())
    is_exact = all(bool((off.abs() <= PROBE_ERROR * exact.abs().max()).all()) for off in sums)
    return is_exact and bool(((activated - activation).abs() <= ROUNDING * (activation + 1.0)).all())


def _found(x: Tensor, weight: Tensor, offset: Tensor) -> tuple[Tensor, ...]:
    """The product, its transpose from operands that lie the other way, the product twice, and behind a relu."""
    x_columns, weight_columns = x.t().contiguous(), weight.t().contiguous()
    one, turned = product(x, weight.t()), product(weight_columns.t(), x_columns)
    several = batched_product(torch.stack((x_columns, x_columns)).transpose(1, 2), weight_columns.expand(2, -1, -1))
    return one, turned, several, torch._addmm_activation(offset, x, weight.t())
