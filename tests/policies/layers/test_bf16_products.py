"""Products of bfloat16 whose sums are float32, and devices that do not have them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from warpworld.policies.layers import bf16_products as module
from warpworld.policies.layers.bf16_products import columns_of, filled, is_sound, product_over_rows, takes_bf16
from warpworld.policies.layers.linear_relu import linear_relu
from warpworld.policies.layers.precision import products

pytestmark = pytest.mark.usefixtures("bf16_as_on_gpu")

DEVICE = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")


def drawn(*shape: int, dtype: torch.dtype = torch.bfloat16, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.integers(1, 30), columns=st.integers(1, 30), dtype=st.sampled_from([torch.float32, torch.bfloat16]))
def test_rows_are_filled_up_to_whole_16_bytes(rows: int, columns: int, dtype: torch.dtype) -> None:
    matrix = drawn(rows, columns, dtype=dtype)
    found = filled(matrix, columns_of(matrix), 1.0)
    assert found.dtype == torch.bfloat16 and found.shape == (rows, found.stride(0))
    assert found.stride(0) % 8 == 0 and found.stride(0) - columns < 8
    assert torch.equal(found[:, :columns], matrix.bfloat16()) and (found[:, columns:] == 1.0).all()


def test_few_rows_are_not_filled_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_NUMBERS", 42)
    assert columns_of(drawn(6, 7)) == 8 and columns_of(drawn(5, 7)) == 7


@pytest.mark.parametrize("rows", [1, 31, 32, 96, 100])
def test_sums_over_rows_are_exact_but_for_float32(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts and in one."""
    monkeypatch.setattr(module, "PARTS", 4)
    monkeypatch.setattr(module, "LEAST_ROWS", 8)
    calls: list[torch.Size] = []
    batched = module.batched_product
    monkeypatch.setattr(module, "batched_product", lambda a, b: calls.append(a.shape) or batched(a, b))
    a, b = drawn(rows, 5), drawn(rows, 16, seed=1)
    found = product_over_rows(a, b)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), a.double().t() @ b.double(), rtol=1e-5, atol=1e-5)
    assert calls == ([(4, 5, rows // 4)] if rows >= 32 else [])


def missing(*arguments: Any, **further: Any) -> Tensor:
    raise NotImplementedError("Could not run 'aten::mm.dtype'")


def unknown(*arguments: Any, **further: Any) -> Tensor:
    raise TypeError("mm() got an unexpected keyword argument 'out_dtype'")


def without_relu(bias: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    return torch.addmm(bias, x, weight)


@pytest.mark.parametrize("name", ["mm", "bmm", "_addmm_activation"])
@pytest.mark.parametrize("fault", ["missing", "unknown", "wrong"])
def test_without_a_sound_operator_layers_are_torchs_own(name: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = getattr(torch, name)
    wrong = without_relu if name == "_addmm_activation" else lambda a, b, **further: operator(a, b).to(torch.float32)
    monkeypatch.setattr(torch, name, {"missing": missing, "unknown": unknown, "wrong": wrong}[fault])
    assert not is_sound(DEVICE)
    x, weight, bias = (drawn(*shape, dtype=torch.float32) for shape in ((9, 7), (5, 7), (5,)))
    with products("bf16", DEVICE):
        assert not takes_bf16(x, weight)
        assert torch.equal(linear_relu(x, weight, bias), torch.relu(torch.nn.functional.linear(x, weight, bias)))


def test_nothing_is_read_back_while_a_graph_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert not is_sound(torch.device("cuda", 0))
    assert not module._sound
    module._sound[torch.device("cuda", 0)] = True
    assert is_sound(torch.device("cuda", 0))


def test_only_usual_layers_within_bfloat16_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight = drawn(9, 7, dtype=torch.float32), drawn(5, 7, dtype=torch.float32)
    assert not takes_bf16(x, weight)
    with torch.autocast(DEVICE.type, torch.float16):
        assert not takes_bf16(x, weight)
    with products("bf16", DEVICE):
        assert takes_bf16(x, weight) and takes_bf16(x.bfloat16(), weight)
        assert not takes_bf16(x.double(), weight) and not takes_bf16(x, weight.double())
        assert not takes_bf16(x[:0], weight)
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
        assert not takes_bf16(x, weight)
