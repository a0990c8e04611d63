"""The recurrence of a minimal GRU: step by step as on a CPU, and by a scan as on a GPU, and in C++."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from warpworld.policies.fused.gated_means import GatedMeans
from warpworld.policies.layers import gated_mean as module
from warpworld.policies.layers.cells import MinGRU
from warpworld.policies.layers.gated_mean import gated_mean

SIZE = 3


def plain(said: Tensor, state: Tensor, starts: Tensor) -> Tensor:
    """The formula, for autograd."""
    means, now = [], state
    for row, begins in zip(said, starts, strict=True):
        z, c = row.chunk(2, -1)
        z = z.sigmoid()
        now = (1 - z) * torch.where(begins.unsqueeze(-1), 0.0, now) + z * c
        means.append(now)
    return torch.stack(means)


def given(steps: int, agents: int = 4, size: int = SIZE) -> tuple[list[Tensor], Tensor]:
    """What a layer says and a state in float64, and where episodes begin: also in first and last steps."""
    generator = torch.Generator().manual_seed(steps)
    said = 2.0 * torch.randn(steps, agents, 2 * size, generator=generator, dtype=torch.float64)
    said[..., :size][torch.rand(steps, agents, size, generator=generator) < 0.1] = -200.0  # gates that are shut
    said[..., :size][torch.rand(steps, agents, size, generator=generator) < 0.1] = 200.0
    state = torch.randn(agents, size, generator=generator, dtype=torch.float64)
    starts = torch.rand(steps, agents, generator=generator) < 0.2
    starts[:, 0] = False
    starts[0, 1] = starts[-1, 2] = True
    return [said, state], starts


@pytest.fixture(params=["in steps", "by a scan"])
def recurrence(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tensor]:
    """``gated_mean`` as it is on a CPU, or as on a GPU."""
    monkeypatch.setattr(module, "_is_serial", lambda tensor: request.param == "in steps")
    return gated_mean


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 33])
def test_means_and_gradients_are_those_of_the_formula(recurrence: Callable[..., Tensor], steps: int) -> None:
    arguments, starts = given(steps)
    weights = torch.randn(steps, 4, SIZE, dtype=torch.float64)
    ours, theirs = ([tensor.clone().requires_grad_() for tensor in arguments] for _ in range(2))
    found, expected = recurrence(*ours, starts), plain(*theirs, starts)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.grad, other.grad, rtol=0, atol=1e-12)


def test_a_state_is_reset_for_the_observation_with_which_an_episode_begins(recurrence: Callable[..., Tensor]) -> None:
    """Not one step late: the step's own candidate is all that is left."""
    said = torch.tensor([-math.log(3.0), 8.0]).expand(3, 1, 2)  # a gate of 1/4
    starts = torch.tensor([[False], [True], [False]])
    found = recurrence(said, torch.full((1, 1), 100.0), starts)
    assert found.flatten().tolist() == pytest.approx([77.0, 2.0, 3.5], rel=1e-6)


def test_long_memories_stay_finite(recurrence: Callable[..., Tensor]) -> None:
    """Gates that hardly open, over many steps: nothing is divided by a product of what was kept."""
    said = torch.tensor([-9.0, 1.0]).repeat(1000, 1, 1)
    said[::100, :, 0] = 14.0
    said.requires_grad_()
    found = recurrence(said, torch.zeros(1, 1), torch.zeros(1000, 1, dtype=torch.bool))
    found.sum().backward()
    assert found.isfinite().all() and said.grad is not None and said.grad.isfinite().all()
    assert found[-1].item() == pytest.approx(1.0, abs=1e-4)


# ---- in C++ ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 5, 16, 37])
@pytest.mark.parametrize(("steps", "agents"), [(1, 4), (9, 4), (33, 11)])
def test_the_native_means_are_those_of_the_formula(steps: int, agents: int, size: int) -> None:
    exact, starts = given(steps, agents, size)
    weights = torch.randn(steps, agents, size, dtype=torch.float64)
    theirs = [tensor.float().double().requires_grad_() for tensor in exact]
    expected = plain(*theirs, starts)
    (expected * weights).sum().backward()
    bits = []
    for workers in (1, 3):
        ours = [tensor.float().requires_grad_() for tensor in exact]
        found = gated_mean(*ours, starts, native=GatedMeans(workers))
        (found * weights.float()).sum().backward()
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-5)
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.grad is not None
            torch.testing.assert_close(mine.grad.double(), other.grad, rtol=1e-5, atol=1e-5)
        bits.append([found, *(mine.grad for mine in ours)])
    assert all(torch.equal(one, other) for one, other in zip(*bits, strict=True))


def test_what_is_not_finite_stays_so_and_stays_with_its_agent() -> None:
    said, state = torch.zeros(3, 2, 4), torch.zeros(2, 2)
    said[1, 0, 3] = math.nan
    found = gated_mean(said, state, torch.zeros(3, 2, dtype=torch.bool), native=GatedMeans())
    assert found.isnan().tolist() == [[[False] * 2] * 2, [[False, True], [False] * 2], [[False, True], [False] * 2]]


def test_double_precision_is_left_to_torch() -> None:
    (said, state), starts = given(4)
    assert torch.equal(gated_mean(said, state, starts, native=GatedMeans()), gated_mean(said, state, starts))


def test_copies_are_run_by_torch() -> None:
    cell = MinGRU(3, 4)
    cell.native = GatedMeans()
    assert copy.deepcopy(cell).native is None
