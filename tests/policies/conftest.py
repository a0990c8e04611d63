"""Layers in bfloat16 as on a GPU, wherever tests run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from warpworld.policies.layers import bf16_head
from warpworld.policies.layers import bf16_products as module


def in_out_dtype(operator: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """A product with the argument that torch has on CUDA only: exact products, and sums in that dtype."""

    def product(a: Tensor, b: Tensor, out_dtype: torch.dtype | None = None) -> Tensor:
        assert a.dtype == b.dtype
        return operator(a, b) if out_dtype is None else operator(a.to(out_dtype), b.to(out_dtype))

    return product


@pytest.fixture
def bf16_as_on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions for a GPU are taken, for few rows too, by torch's own operators where there is a GPU."""
    monkeypatch.setattr(module, "_sound", {})
    for each in (module, bf16_head):
        monkeypatch.setattr(each, "LEAST_NUMBERS", 1)
    if torch.cuda.is_available():
        return
    monkeypatch.setattr(module, "_on_gpu", lambda x: True)
    for name in ("mm", "bmm"):
        monkeypatch.setattr(torch, name, in_out_dtype(getattr(torch, name)))
