"""Adam in C++ against torch's, which it takes turns with."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from warpworld.policies.fused import FusedAdam
from warpworld.trainers.algorithms.parameters.flat_parameters import FlatParameters, adam
from warpworld.trainers.algorithms.parameters.muon import muon

SIZES = [3, 16, 1000, 5001]


def parameters_of(size: int, native: bool, eps: float = 1e-5) -> FlatParameters:
    torch.manual_seed(size)
    layer = nn.Linear(size, 1)
    made = FlatParameters(layer, 3e-3, lambda vector, rate, matrices: adam(vector, rate, matrices, eps))
    made.tensors()  # makes the moments
    made.native = FusedAdam() if native else None
    return made


def gradients(size: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(size)
    return [10.0 ** (k % 5 - 3) * torch.randn(size + 1, generator=generator) for k in range(12)]


def put(parameters: FlatParameters, gradient: Tensor) -> None:
    parts = parameters.parts
    parts[0].grad.copy_(gradient[:-1].view_as(parts[0]))  # type: ignore[union-attr]
    parts[1].grad.copy_(gradient[-1:])  # type: ignore[union-attr]


@pytest.mark.parametrize("max_norm", [0.5, 30.0, math.inf])
@pytest.mark.parametrize("size", SIZES)
def test_steps_are_those_of_torch(size: int, max_norm: float) -> None:
    ours, theirs = parameters_of(size, True), parameters_of(size, False)
    start = theirs.vector.detach().clone()
    for number, gradient in enumerate(gradients(size)):
        for each in (ours, theirs):
            put(each, gradient)
        if number == 7:  # torch continues from what C++ left
            ours.native = None
        norms = [each.step(max_norm) for each in (ours, theirs)]
        torch.testing.assert_close(norms[0], norms[1], rtol=1e-5, atol=0.0)
        ours.learning_rate = theirs.learning_rate = 1e-3 / (number + 1)
    moved = (theirs.vector - start).norm()
    assert (ours.vector - theirs.vector).norm() < 1e-5 * moved
    for name, moment in theirs.optimizer.state[theirs.vector].items():
        assert (ours.optimizer.state[ours.vector][name] - moment).norm() <= 1e-5 * moment.norm()


def test_the_first_step_by_hand() -> None:
    """With moments of zero a step is the rate times the sign of the gradient, less what eps takes."""
    parameters = parameters_of(1, True, eps=0.5)
    before = parameters.parts[0].item()
    put(parameters, torch.tensor([3.0, 4.0]))
    assert parameters.step(1.0).item() == pytest.approx(5.0)
    assert parameters.parts[0].grad.item() == pytest.approx(0.6)  # type: ignore[union-attr]
    assert parameters.parts[0].item() == pytest.approx(before - 3e-3 * 0.6 / (0.6 + 0.5), rel=1e-5)


def test_a_gradient_that_is_not_finite_shows() -> None:
    parameters = parameters_of(3, True)
    put(parameters, torch.tensor([1.0, float("nan"), 0.0, 0.0]))
    assert math.isnan(parameters.step(0.5).item())
    assert parameters.parts[0].isnan().all()


@pytest.mark.long
def test_other_optimisers_are_left_to_torch() -> None:
    vector = nn.Parameter(torch.zeros(4))
    vector.grad = torch.ones(4)
    plain, decayed = torch.optim.Adam([vector]), torch.optim.Adam([vector], weight_decay=0.1)
    assert not FusedAdam.takes(plain, vector)  # it has no moments yet
    for optimizer in (plain, decayed):
        optimizer.step()
    assert FusedAdam.takes(plain, vector)
    assert not FusedAdam.takes(decayed, vector)
    muons = [FlatParameters(nn.Linear(8, 8), 1e-2, muon) for _ in range(2)]
    muons[1].vector.data.copy_(muons[0].vector.detach())
    muons[0].native = FusedAdam()
    for each in muons:
        for _ in range(3):
            each.gradient.copy_(torch.arange(float(len(each.vector))))
            each.step(0.5)
    assert torch.equal(muons[0].vector, muons[1].vector)
