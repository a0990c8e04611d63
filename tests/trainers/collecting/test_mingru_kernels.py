"""The kernels of a minimal GRU against torch: a step of all layers, and the recurrence with its gradient."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

import warpworld
from tests.policies.test_gated_mean import given, plain
from warpworld import World
from warpworld.policies.distributions.distribution import Categorical
from warpworld.policies.layers.cells import MinGRU
from warpworld.policies.layers.gated_mean import gated_mean
from warpworld.policies.recurrent import RecurrentNetwork, RecurrentPolicy
from warpworld.trainers.collecting.mingru_kernels import give_kernels


@contextmanager
def bf16(device: torch.device) -> Iterator[None]:
    with torch.autocast(device.type, torch.bfloat16, cache_enabled=False):
        yield


def made(width: int, size: int, num_layers: int) -> tuple[MinGRU, World]:
    """A cell with kernels in a world that is reset, and one without."""
    torch.manual_seed(width + size)
    world = warpworld.make("cartpole", num_envs=3)
    cell = MinGRU(width, size, num_layers).to(world.device)
    for layer in cell.layers:
        torch.nn.init.normal_(layer.bias)
    policy = RecurrentPolicy(RecurrentNetwork(torch.nn.Identity(), cell), Categorical([2]))
    give_kernels(policy, world)
    world.reset()
    return cell, world


def rows_of(cell: MinGRU, rows: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    shapes = (rows, width), (rows, cell.state_size)
    fed, state = (torch.randn(shape, generator=generator).to(device) for shape in shapes)
    return fed, state


# ---- a step ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("width", "size", "num_layers"), [(5, 3, 1), (32, 32, 4), (7, 20, 2), (40, 8, 3)])
@pytest.mark.parametrize("rows", [1, 70, 200])
def test_a_step_is_torchs(width: int, size: int, num_layers: int, rows: int) -> None:
    cell, world = made(width, size, num_layers)
    fed, state = rows_of(cell, rows, width, world.device)
    with torch.no_grad():
        assert cell.stepper is not None and cell.stepper.takes_step(fed, state)
        found, expected = cell.step(fed, state), copy.deepcopy(cell).double().step(fed.double(), state.double())
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine.double(), theirs, rtol=1e-5, atol=1e-5)


def test_a_step_in_bf16_is_torchs_but_for_roundings_that_fall_the_other_way() -> None:
    """One layer: what it says may differ in the last bit of a bfloat16, where float32 sums do in theirs."""
    cell, world = made(24, 16, 1)
    if world.device.type == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch's autocast for cuda needs a GPU")
    fed, state = rows_of(cell, 300, 24, world.device)
    with torch.no_grad(), bf16(world.device):
        reduced = fed.bfloat16()
        assert cell.stepper is not None and cell.stepper.takes_step(reduced, state)
        (mine, _), (theirs, _) = cell.step(reduced, state), copy.deepcopy(cell).step(reduced, state)
        exact = copy.deepcopy(cell).double().step(fed.double(), state.double())[0]
    differs = (mine - theirs).abs() > 1e-6
    assert differs.double().mean() < 0.01  # of all numbers
    assert (mine - exact).abs().mean() > 1e-3  # they are rounded
    torch.testing.assert_close(mine, theirs, rtol=0.02, atol=0.02)


def test_torch_takes_the_steps_of_a_policy_whose_world_is_closed() -> None:
    cell, world = made(6, 4, 2)
    fed, state = rows_of(cell, 5, 6, world.device)
    with torch.no_grad():
        before = cell.step(fed, state)
        world.close()
        after = cell.step(fed, state)
        through_time = cell.unroll(fed[None], state, torch.zeros(1, 5, dtype=torch.bool, device=fed.device))[0]
    for mine, theirs in zip(before, after, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(through_time[0], after[0], rtol=1e-5, atol=1e-5)


def test_steps_follow_the_present_weights() -> None:
    cell, world = made(6, 4, 2)
    fed, state = rows_of(cell, 5, 6, world.device)
    with torch.no_grad():
        before = cell.step(fed, state)[0]
        cell.layers[1].weight.mul_(-1.0)
        after = cell.step(fed, state)[0]
        torch.testing.assert_close(after, copy.deepcopy(cell).step(fed, state)[0])
    assert not torch.allclose(before, after)


def test_what_asks_for_a_gradient_or_is_of_another_dtype_is_torchs() -> None:
    cell, world = made(6, 4, 2)
    fed, state = rows_of(cell, 5, 6, world.device)
    assert cell.stepper is not None and not cell.stepper.takes_step(fed, state)
    with torch.no_grad():
        assert not cell.stepper.takes_step(fed.double(), state.double())
        assert not cell.stepper.takes_step(fed.bfloat16(), state)  # outside of autocast


@pytest.mark.parametrize(("width", "size", "num_layers"), [(6, 4, 5), (200, 100, 1)])
def test_more_layers_or_wider_ones_step_by_torch(width: int, size: int, num_layers: int) -> None:
    cell = made(width, size, num_layers)[0]
    assert cell.stepper is None and cell.native is not None


def test_copies_are_run_by_torch() -> None:
    copied = copy.deepcopy(made(6, 4, 2)[0])
    assert copied.native is None and copied.stepper is None


# ---- through time ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 5, 37])
@pytest.mark.parametrize(("steps", "agents"), [(1, 4), (8, 4), (19, 11)])
def test_means_and_gradients_are_those_of_the_formula(steps: int, agents: int, size: int) -> None:
    cell, world = made(2, size, 1)
    exact, starts = given(steps, agents, size)
    weights = torch.randn(steps, agents, size, dtype=torch.float64)
    theirs = [tensor.float().double().requires_grad_() for tensor in exact]
    expected = plain(*theirs, starts)
    (expected * weights).sum().backward()
    ours = [tensor.float().to(world.device).requires_grad_() for tensor in exact]
    found = gated_mean(*ours, starts.to(world.device), native=cell.native)
    (found * weights.float().to(world.device)).sum().backward()
    torch.testing.assert_close(found.double().cpu(), expected, rtol=0, atol=1e-5)
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.grad is not None
        torch.testing.assert_close(mine.grad.double().cpu(), other.grad, rtol=1e-5, atol=1e-5)


def test_bfloat16_is_read_and_given_back_as_torch_does() -> None:
    cell, world = made(2, 6, 1)
    (said, state), starts = given(19, 5, 6)
    reduced = said.bfloat16().to(world.device)
    state, starts = state.float().to(world.device), starts.to(world.device)
    ours, theirs = (reduced.clone().requires_grad_() for _ in range(2))
    found, expected = gated_mean(ours, state, starts, native=cell.native), gated_mean(theirs, state, starts)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    found.square().sum().backward()
    expected.square().sum().backward()
    assert ours.grad is not None and ours.grad.dtype == torch.bfloat16
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=0.008, atol=1e-5)  # a bit of a bfloat16


def test_a_replay_of_several_layers_is_torchs() -> None:
    cell, world = made(6, 5, 3)
    generator = torch.Generator().manual_seed(1)
    fed = torch.randn(12, 4, 6, generator=generator).to(world.device)
    state = torch.randn(4, cell.state_size, generator=generator).to(world.device)
    starts = (torch.rand(4, 12, generator=generator) < 0.2).t().to(world.device)
    other = copy.deepcopy(cell)
    for each in (cell, other):
        hidden, after = each.unroll(fed, state, starts)
        (hidden.square().sum() + after.sum()).backward()
    torch.testing.assert_close(cell.unroll(fed, state, starts), other.unroll(fed, state, starts))
    for mine, theirs in zip(cell.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)
