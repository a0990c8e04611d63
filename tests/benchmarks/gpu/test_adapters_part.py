"""The part "adapters" finds a copy where the store should be seen."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from benchmarks.gpu import adapters
from benchmarks.gpu.part import Context


def test_the_store_is_seen(context: Context) -> None:
    adapters.prove(context)
    assert context.figures["dlpack_arrays"] == ["observations", "rewards", "timestep"]
    assert context.figures["views_checked"]


def test_a_copy_is_found(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "from_dlpack", lambda tensor: tensor.clone())
    adapters.prove(context)
    assert "DLPack copies 'observations'" in context.findings
    assert "headline" not in context.figures


def test_an_adapter_that_copies_is_found(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    real = adapters.warpworld.make

    def copying(*arguments: Any, **settings: Any) -> Any:
        return real(*arguments, **{**settings, "copy": True})

    monkeypatch.setattr(adapters.warpworld, "make", copying)
    adapters.prove(context)
    assert context.findings[0] == "an adapter that should not copy returned another array"
