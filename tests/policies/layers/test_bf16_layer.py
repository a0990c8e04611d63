"""A linear layer and its activation in bfloat16, as on a GPU."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.stand_in.recorded_graph import RecordedGraph
from warpworld.policies.layers import bf16_layer as module
from warpworld.policies.layers import bf16_products, run_layers
from warpworld.policies.layers.bf16_layer import bf16_layer
from warpworld.policies.layers.gpu_layer import Activation
from warpworld.policies.layers.precision import gradients_of, products

pytestmark = pytest.mark.usefixtures("bf16_as_on_gpu")

DEVICE = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
ROUNDING = 2.0**-8  # by which one rounding to bfloat16 changes a number at most, relative
SUMMED = 1e-5  # of sums of float32, relative to the sum of what is added up, without signs
sizes = st.integers(1, 40)


def inputs(rows: int, features: int, outputs: int, seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = (rows, features), (outputs, features), (outputs,)
    return [torch.randn(shape, generator=generator).to(DEVICE).requires_grad_() for shape in shapes]


def rounded(tensor: Tensor) -> Tensor:
    """What a layer of bfloat16 reads of it, in float64."""
    return tensor.detach().bfloat16().double()


@pytest.mark.parametrize("least", [1, 10**6], ids=["aligned", "as it is"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(rows=9, features=71, outputs=256, activation="relu", dtype=torch.float32, seed=0)
@given(
    rows=sizes,
    features=sizes,
    outputs=sizes,
    activation=st.sampled_from(["relu", "tanh", "none"]),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
    seed=st.integers(0, 2**31),
)
def test_result_and_gradients(
    least: int, rows: int, features: int, outputs: int, activation: Activation, dtype: torch.dtype, seed: int
) -> None:
    bf16_products.LEAST_NUMBERS = least  # set back by the fixture
    x, weight, bias = inputs(rows, features, outputs, seed)
    x = x.detach().to(dtype).requires_grad_()
    found = bf16_layer(x, weight, bias, activation)
    # result
    read, weights = rounded(x), rounded(weight)
    activated = {"relu": torch.relu, "tanh": torch.tanh, "none": torch.clone}[activation]
    exact = activated(read @ weights.t() + rounded(bias))
    lost = SUMMED * (read.abs() @ weights.abs().t() + rounded(bias).abs())
    if DEVICE.type == "cuda":  # for a narrow layer torch rounds the product, and then its sum with the bias
        lost += ROUNDING * (read @ weights.t()).abs()
    assert found.dtype == torch.bfloat16
    twice = 2.1 * ROUNDING  # before the activation and behind it
    assert ((found.double() - exact).abs() <= twice * exact.abs() + lost).all()
    # gradients, of the result that was found
    upstream = torch.randn(rows, outputs, generator=torch.Generator().manual_seed(seed)).to(DEVICE, torch.bfloat16)
    found.backward(upstream)
    said = found.detach()
    if activation == "tanh":  # torch's own operator, whose steps a GPU rounds one by one
        through = torch.ops.aten.tanh_backward(upstream, said).double()
    else:
        through = upstream.double() * (said > 0 if activation == "relu" else torch.ones_like(said))
    loss = ROUNDING * through.abs()  # by being rounded to bfloat16
    pairs = ((x, through @ weights, loss @ weights.abs()), (weight, through.t() @ read, loss.t() @ read.abs()))
    for leaf, right, lost in (*pairs, (bias, through.sum(0), loss.sum(0))):
        assert leaf.grad is not None and leaf.grad.dtype == leaf.dtype and leaf.grad.shape == leaf.shape
        at_most = lost * (1 + SUMMED / ROUNDING) + (ROUNDING * right.abs() if leaf is x else 0.0)
        assert ((leaf.grad.double() - right).abs() <= at_most + 1e-12).all()


def test_inputs_without_gradient_and_any_leading_dimensions() -> None:
    _, weight, bias = inputs(1, 5, 6)
    x = torch.randn(3, 2, 7, 5, device=DEVICE)
    found = bf16_layer(x[:, 1], weight, bias, "relu")
    assert torch.equal(found, bf16_layer(x[:, 1].reshape(-1, 5), weight, bias, "relu").view(3, 7, 6))
    found.sum().backward()
    assert x.grad is None and weight.grad is not None


def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers = nn.Linear(11, 16), nn.ReLU(), nn.Linear(16, 13), nn.Tanh(), nn.Linear(13, 3)
    return nn.Sequential(*layers).to(DEVICE)


def test_layers_use_it_where_they_multiply_in_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    apply = module._Bf16Layer.apply
    monkeypatch.setattr(module._Bf16Layer, "apply", lambda *given: calls.append(given[-1]) or apply(*given))
    layers, x = network(), torch.randn(50, 11, device=DEVICE)
    exact = run_layers(layers, x)
    assert not calls
    with products("bf16", DEVICE):
        found = run_layers(layers, x)
    assert calls == ["relu", "tanh"]
    assert found.dtype == torch.float32
    assert 1e-4 < (found - exact).norm() / exact.norm() < 0.02


def test_a_layer_without_a_bias_is_torchs_own() -> None:
    layers, x = nn.Sequential(nn.Linear(3, 5, bias=False), nn.ReLU()).to(DEVICE), torch.randn(7, 3, device=DEVICE)
    with products("bf16", DEVICE):
        assert torch.equal(run_layers(layers, x), layers(x))


@pytest.mark.skipif(DEVICE.type == "cuda", reason="a recorded graph is one on a CPU")
def test_a_graph_of_it_reads_nothing_back_and_casts_present_weights() -> None:
    layers, x = network(), torch.randn(50, 11)
    gradients = [torch.zeros_like(parameter) for parameter in layers.parameters()]

    def run() -> None:
        with products("bf16", DEVICE):
            found = gradients_of([run_layers(layers, x).square().mean()], list(layers.parameters()))
        for gradient, new in zip(gradients, found, strict=True):
            assert new is not None
            gradient.copy_(new)

    run()
    first = [gradient.clone() for gradient in gradients]
    with RecordedGraph(0, run) as graph:
        run()
    for parameter in layers.parameters():
        parameter.data.mul_(1.5)
    graph.repeat()
    replayed = [gradient.clone() for gradient in gradients]
    run()
    assert all(map(torch.equal, replayed, gradients))
    assert not any(map(torch.equal, first, gradients))
