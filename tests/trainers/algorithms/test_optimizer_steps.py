"""Steps of Adam and Muon in one kernel against float64."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import warpworld
from tests.trainers.algorithms.wide_muon import WideMuon
from warpworld.policies.layers.ensemble import Ensemble
from warpworld.trainers.algorithms.parameters import OPTIMIZERS, FlatParameters, rmsprop
from warpworld.trainers.algorithms.updates.optimizer_steps import StepKernels, give_steps

RATE, STEPS, LONGEST = 0.01, 5, 2.0


def network() -> nn.Module:
    """Matrices of one tile and of several, lying and standing; of three members and a convolution; and single rows."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        layers = [nn.Linear(6, 20), nn.Linear(40, 70), nn.Linear(33, 9), nn.Conv1d(2, 4, 3), nn.Linear(7, 1)]
        return nn.Sequential(*layers, Ensemble(3, (3, 5)))


def gradients(count: int) -> Tensor:
    """(STEPS, count): short ones and ones that are scaled down."""
    drawn = torch.randn(STEPS, count, generator=torch.Generator().manual_seed(5))
    return drawn * torch.tensor([0.001, 1.0, 0.01, 1.0, 0.1])[:, None]


class Made:
    """Parameters whose steps are a kernel's, in a world of some envs."""

    def __init__(self, optimizer: str, num_envs: int = 5) -> None:
        world = warpworld.make("cartpole", num_envs=num_envs)
        self.parameters = FlatParameters(network().to(world.device), RATE, OPTIMIZERS[optimizer])
        give_steps(self.parameters, world)
        world.reset()
        self.parameters.tensors()
        self.parameters.rate_on_device()

    def stepped(self) -> list[Tensor]:
        """Lengths of the gradients, after all steps."""
        native, taken = self.parameters.native, list[Tensor]()
        assert isinstance(native, StepKernels)
        for gradient in gradients(self.parameters.vector.numel()):
            assert native.takes(self.parameters.optimizer, self.parameters.vector)
            self.parameters.gradient.copy_(gradient)
            taken.append(self.parameters.step(LONGEST))
        return taken


def wide(optimizer: str) -> FlatParameters:
    make: Any = WideMuon if optimizer == "muon" else lambda vector, rate, _: torch.optim.Adam([vector], rate, eps=1e-5)
    return FlatParameters(network().double(), RATE, make)


@pytest.mark.parametrize("optimizer", ["muon", "adam"])
def test_steps_are_those_of_float64(optimizer: str) -> None:
    mine, right = Made(optimizer), wide(optimizer)
    lengths = mine.stepped()
    for gradient, length in zip(gradients(right.vector.numel()), lengths, strict=True):
        torch.testing.assert_close(length.double().cpu(), gradient.double().norm(), rtol=1e-6, atol=0)
        right.vector.grad = gradient.double()
        right.step(LONGEST)
    torch.testing.assert_close(mine.parameters.vector.double().cpu(), right.vector, rtol=0, atol=1e-5)
    torch.testing.assert_close(mine.parameters.gradient.double().cpu(), right.gradient, rtol=1e-5, atol=1e-7)
    assert float(mine.parameters.optimizer.state[mine.parameters.vector]["step"]) == STEPS


def test_steps_do_not_depend_on_how_many_blocks_take_them() -> None:
    found = []
    for num_envs in (1, 2, 9, 40):
        mine = Made("muon", num_envs)
        found.append((*mine.stepped(), *mine.parameters.tensors()))
        assert isinstance(mine.parameters.native, StepKernels) and not mine.parameters.native._counters.any()
    for other in found[1:]:
        assert all(torch.equal(one, each) for one, each in zip(found[0], other, strict=True))


def test_a_gradient_of_nothing_moves_no_matrix() -> None:
    mine = Made("muon")
    before = mine.parameters.vector.detach().clone()
    mine.parameters.gradient.zero_()
    mine.parameters.step(LONGEST)
    assert torch.equal(mine.parameters.vector, before)


def test_other_optimisers_are_left_to_torch() -> None:
    world = warpworld.make("cartpole", num_envs=2)
    other = FlatParameters(network().to(world.device), RATE, partial(rmsprop, eps=1e-5))
    give_steps(other, world)
    assert other.native is None
