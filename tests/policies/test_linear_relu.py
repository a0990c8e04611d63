"""A linear layer and its relu as one operation."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from warpworld.policies.layers import linear_relu as module
from warpworld.policies.layers.linear_relu import linear_relu
from warpworld.policies.layers.linear_tanh import run_layers

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
sizes = st.integers(1, 20)


@pytest.fixture(autouse=True)
def as_on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operation is taken on the cpu, too."""
    monkeypatch.setattr(module, "in_float32_on_gpu", lambda x, weight: True)


def inputs(rows: int, features: int, outputs: int, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = (rows, features), (outputs, features), (outputs,)
    return [torch.randn(shape, generator=generator).to(DEVICE).requires_grad_() for shape in shapes]


@given(rows=sizes, features=sizes, outputs=sizes, seed=st.integers(0, 2**31))
def test_result_and_gradients_are_torchs_own(rows: int, features: int, outputs: int, seed: int) -> None:
    ours, theirs = inputs(rows, features, outputs, seed), inputs(rows, features, outputs, seed)
    found, expected = linear_relu(*ours), torch.relu(nn.functional.linear(*theirs))
    torch.testing.assert_close(found, expected)
    upstream = torch.randn(rows, outputs, generator=torch.Generator().manual_seed(seed)).to(DEVICE)
    found.backward(upstream)
    expected.backward(upstream)
    for mine, right in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, right.grad)


def test_inputs_without_gradient_and_any_leading_dimensions() -> None:
    _, weight, bias = inputs(1, 4, 6)
    x = torch.randn(3, 2, 5, 4, device=DEVICE)
    found = linear_relu(x[:, 1], weight, bias)
    torch.testing.assert_close(found, torch.relu(nn.functional.linear(x[:, 1], weight, bias)))
    found.sum().backward()
    assert x.grad is None and weight.grad is not None


def test_layers_use_it_and_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    apply = module.gpu_layer
    monkeypatch.setattr(module, "gpu_layer", lambda *a: calls.append(1) or apply(*a))
    layers = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 4), nn.ReLU())
    x = torch.randn(7, 3, device=DEVICE)
    torch.testing.assert_close(run_layers(layers.to(DEVICE), x), layers(x))
    assert len(calls) == 2
