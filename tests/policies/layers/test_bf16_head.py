"""A last layer whose products are those of bfloat16 and whose numbers are those of float32, as on a GPU."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from warpworld.policies.layers import bf16_head as module
from warpworld.policies.layers import in_float32
from warpworld.policies.layers.bf16_head import bf16_head, halved
from warpworld.policies.layers.precision import products

pytestmark = pytest.mark.usefixtures("bf16_as_on_gpu")

DEVICE = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
ROUNDING = 2.0**-8  # by which one rounding to bfloat16 changes a number at most, relative
LOST = 1.1 * ROUNDING**2  # of two such numbers, relative to the sum of what is added up, without signs
sizes = st.integers(1, 40)


def inputs(rows: int, features: int, outputs: int, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = (rows, features), (outputs, features), (outputs,)
    x, weight, bias = (torch.randn(shape, generator=generator).to(DEVICE) for shape in shapes)
    return [x.bfloat16().requires_grad_(), weight.requires_grad_(), bias.requires_grad_()]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(rows=99, features=256, outputs=42, seed=0)
@given(rows=sizes, features=sizes, outputs=sizes, seed=st.integers(0, 2**31))
def test_result_and_gradients(rows: int, features: int, outputs: int, seed: int) -> None:
    ours = inputs(rows, features, outputs, seed)
    x, weight, bias = (tensor.detach().double() for tensor in ours)
    found = bf16_head(*ours)
    assert found.dtype == torch.float32 and found.shape == (rows, outputs)
    assert ((found - x @ weight.t() - bias).abs() <= LOST * (x.abs() @ weight.abs().t() + bias.abs())).all()
    upstream = torch.randn(rows, outputs, generator=torch.Generator().manual_seed(seed)).to(DEVICE)
    found.backward(upstream)
    given_back, exact = [tensor.grad for tensor in ours], upstream.double()
    at_x, at_weight, at_bias = exact @ weight, exact.t() @ x, exact.sum(0)
    assert [gradient.dtype for gradient in given_back] == [torch.bfloat16, torch.float32, torch.float32]
    assert ((given_back[0].double() - at_x).abs() <= 2.1 * ROUNDING * (exact.abs() @ weight.abs())).all()
    assert ((given_back[1] - at_weight).abs() <= LOST * (exact.abs().t() @ x.abs())).all()
    assert ((given_back[2] - at_bias).abs() <= LOST * exact.abs().sum(0)).all()


def test_outputs_are_nearer_than_a_hundred_thousandth_of_their_scale() -> None:
    """Where bfloat16 alone would be off by some thousandths."""
    x, weight, bias = inputs(500, 256, 42)
    exact = x.double() @ weight.double().t() + bias.double()
    assert (bf16_head(x, weight, bias) - exact).abs().max() < 1e-5 * exact.abs().max()
    assert (bf16_head(x, weight.bfloat16().float(), bias) - exact).abs().max() > 1e-3 * exact.abs().max()


def test_halves_add_up_to_the_number() -> None:
    matrix = torch.randn(5, 3, device=DEVICE) * torch.tensor([1e-30, 1.0, 1e30], device=DEVICE)
    found = halved(matrix, 8).double()
    assert found.shape == (8, 8) and not found[5:].any() and not found[:, 6:].any()
    assert ((found[:5, :3] + found[:5, 3:6] - matrix).abs() <= ROUNDING**2 * matrix.abs()).all()
    assert torch.equal(found[:5, :3], matrix.bfloat16().double())


def test_any_leading_dimensions_and_an_input_without_gradient() -> None:
    x, weight, bias = inputs(6, 8, 3)
    read = x.detach().view(2, 3, 8)
    found = bf16_head(read[:, 1:], weight, bias)
    assert torch.equal(found, bf16_head(read[:, 1:].reshape(-1, 8), weight, bias).view(2, 2, 3))
    found.sum().backward()
    assert read.grad is None and weight.grad is not None


def test_last_layers_are_it_behind_layers_of_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    apply = module._Bf16Head.apply
    monkeypatch.setattr(module._Bf16Head, "apply", lambda *given: calls.append(1) or apply(*given))
    head, without = nn.Linear(8, 3).to(DEVICE), nn.Linear(8, 3, bias=False).to(DEVICE)
    x = torch.randn(50, 8, device=DEVICE).bfloat16()
    with products("bf16", DEVICE):
        found = in_float32(head, x)
        assert len(calls) == 1
        others = in_float32(head, x.float()), in_float32(without, x), in_float32(head.forward, x)
        monkeypatch.setattr(module, "LEAST_NUMBERS", 401)
        assert in_float32(head, x).dtype == torch.float32
    assert len(calls) == 1
    torch.testing.assert_close(found, others[0], rtol=1e-5, atol=1e-5)
    assert all(other.dtype == torch.float32 for other in others)
