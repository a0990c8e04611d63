"""A linear layer and its tanh as one operation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor, nn

from warpworld.policies.layers import linear_tanh as module
from warpworld.policies.layers.linear_tanh import linear_tanh, pointwise, run_layers

sizes = st.integers(1, 20)
UNIT = 2.0**-24  # of rounding in float32


@pytest.fixture
def fresh_probe() -> Iterator[None]:
    """The probe is made again in this test, and after it."""
    pointwise.cache_clear()
    yield
    pointwise.cache_clear()


def inputs(rows: int, features: int, outputs: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = (rows, features), (outputs, features), (outputs,)
    return [torch.randn(shape, generator=generator, requires_grad=True) for shape in shapes]


@example(rows=18, features=18, outputs=17, seed=18)  # one of whose sums is small beside its terms
@given(rows=sizes, features=sizes, outputs=sizes, seed=st.integers(0, 2**31))
@pytest.mark.long
def test_result_and_gradients(rows: int, features: int, outputs: int, seed: int) -> None:
    assert pointwise() is not None
    given_inputs = inputs(rows, features, outputs, seed)
    exact_inputs = [tensor.detach().double().requires_grad_() for tensor in given_inputs]
    x, weight, bias = exact_inputs
    exact = torch.tanh(x @ weight.T + bias)
    found = linear_tanh(*given_inputs)
    # what a sum of so many products may lose in float32 (Higham 2002, section 3.1); a tanh is no steeper than 1
    lost = (features + 1) * UNIT * (x.abs() @ weight.abs().T + bias.abs())
    assert ((found.double() - exact).abs() <= lost + 4 * UNIT * exact.abs()).all()
    upstream = torch.randn(rows, outputs, generator=torch.Generator().manual_seed(seed))
    found.backward(upstream)
    exact.backward(upstream.double())
    for mine, right in zip(given_inputs, exact_inputs, strict=True):
        torch.testing.assert_close(mine.grad.double(), right.grad, rtol=1e-5, atol=1e-5)


def test_inputs_without_gradient_and_any_leading_dimensions() -> None:
    _, weight, bias = inputs(1, 4, 6, 0)
    x = torch.randn(3, 2, 5, 4)
    found = linear_tanh(x[:, 1], weight, bias)
    torch.testing.assert_close(found, torch.tanh(nn.functional.linear(x[:, 1], weight, bias)))
    found.sum().backward()
    assert x.grad is None
    assert linear_tanh(torch.empty(0, 4), weight, bias).shape == (0, 6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_dtypes_are_torchs_own(dtype: torch.dtype) -> None:
    x, weight, bias = (tensor.to(dtype) for tensor in inputs(5, 4, 3, 0))
    assert torch.equal(linear_tanh(x, weight, bias), torch.tanh(nn.functional.linear(x, weight, bias)))


def missing(*arguments: object) -> Tensor:
    raise AttributeError("no such operator")


def rounding(x: Tensor, weight: Tensor, bias: Tensor | None, what: str, *rest: object) -> Tensor:
    result = nn.functional.linear(x.bfloat16(), weight.bfloat16(), None if bias is None else bias.bfloat16()).float()
    return result.tanh() if what == "tanh" else result


@pytest.mark.parametrize("operator", [missing, rounding])
@pytest.mark.usefixtures("fresh_probe")
def test_without_a_sound_operator_torchs_own_serve(monkeypatch: pytest.MonkeyPatch, operator: object) -> None:
    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", operator)
    assert pointwise() is None
    x, weight, bias = inputs(5, 4, 3, 0)
    assert torch.equal(linear_tanh(x, weight, bias), torch.tanh(nn.functional.linear(x, weight, bias)))


def test_layers_are_run_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(module, "linear_tanh", lambda *a: calls.append(1) or linear_tanh(*a))
    layers = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 4), nn.Tanh())
    x = torch.randn(7, 3)
    torch.testing.assert_close(run_layers(layers, x), layers(x))
    assert len(calls) == 2


def test_a_layer_without_a_bias_has_gradients() -> None:
    layers, x = nn.Sequential(nn.Linear(3, 5, bias=False), nn.Tanh()), torch.randn(7, 3)
    run_layers(layers, x).sum().backward()
    found = layers[0].weight.grad
    layers.zero_grad()
    layers(x).sum().backward()
    torch.testing.assert_close(found, layers[0].weight.grad)
