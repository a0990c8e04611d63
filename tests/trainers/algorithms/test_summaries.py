"""Diagnostics of updates that a kernel finds, against float64 and against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import warpworld
from warpworld.trainers.algorithms.updates.passes import Passes
from warpworld.trainers.algorithms.updates.summaries import Summaries, Summariser, Summary

PPO = ("policy_loss", "value_loss", "entropy", "approx_kl", "old_approx_kl", "clipfrac", "grad_norm")
A2C = (*PPO[:3], "grad_norm")
OWN = ("pull", "grad_norm")


class Made:
    """A policy whose updates end with some diagnostics."""

    def __init__(self, summaries: Summaries, names: tuple[str, ...], device: torch.device) -> None:
        self.passes, self.device = Passes(names, torch.zeros(1, device=device)), device
        self.found = torch.full((len(names) + 1,), 7.0, device=device)
        self.summariser = Summariser(summaries, self.passes, self.found)

    def begin(self) -> None:
        for tensor in self.passes.tensors():
            tensor.zero_()

    def drawn(self, count: int, seed: int, masked: bool) -> tuple[Tensor, Tensor, Tensor | None]:
        """Returns that lie far from 0, and values that are near them; what does not count is NaN."""
        generator = torch.Generator().manual_seed(seed)
        returns = 1000.0 + torch.randn(count, generator=generator)
        values = returns + 0.3 * torch.randn(count, generator=generator)
        mask = torch.rand(count, generator=generator) < 0.7 if masked else None
        for column in (returns, values) if mask is not None else ():
            column[~mask] = torch.nan
        return tuple(None if each is None else each.to(self.device) for each in (returns, values, mask))  # type: ignore[return-value]


def made(num_envs: int, *names: tuple[str, ...]) -> tuple[Summaries, list[Made]]:
    world = warpworld.make("cartpole", num_envs=num_envs)
    summaries = Summaries(world)
    policies = [Made(summaries, own, world.device) for own in names]
    world.reset()
    return summaries, policies


def explained(returns: Tensor, values: Tensor, mask: Tensor | None) -> float:
    """By float64, of the differences as float32 has them."""
    apart, returns = (returns - values).double(), returns.double()
    if mask is not None:
        apart, returns = apart[mask], returns[mask]
    return float(1.0 - apart.var(correction=0) / returns.var(correction=0))


def minibatches(passes: int, of_pass: int, seed: int, device: torch.device, size: int = len(PPO)) -> Tensor:
    return torch.randn(passes * of_pass, size, generator=torch.Generator().manual_seed(seed)).to(device)


def ended(one: Made, found: Tensor, passes: int, rows: tuple[Tensor, Tensor, Tensor | None]) -> Summary:
    one.summariser.note(found, passes, True)
    return one.summariser.of_rows(*rows)


@pytest.mark.parametrize("num_envs", [1, 40])
@pytest.mark.parametrize(("count", "masked"), [(1, False), (50, True), (9000, False), (9000, True)])
def test_diagnostics_are_those_of_float64(num_envs: int, count: int, masked: bool) -> None:
    """Means over all minibatches, over the latest pass and the latest minibatch; the part of the variance."""
    summaries, (one,) = made(num_envs, A2C)
    found, rows = minibatches(3, 5, 1, one.device), one.drawn(count, 2, masked)
    one.begin()
    summaries([ended(one, found, 3, rows)])
    columns = found[:, [0, 1, 2, 6]].double()
    wanted = [*columns.mean(0).tolist(), explained(*rows) if count > 1 else 0.0]
    assert one.found.tolist() == pytest.approx(wanted, rel=1e-6, abs=1e-7)
    assert int(one.passes.tensors()[0]) == 3
    for means, expected in ((one.passes.means_of_last(), columns[-5:].mean(0)), (one.passes.latest(), columns[-1])):
        assert list(means) == list(A2C)
        assert [float(each) for each in means.values()] == pytest.approx(expected.tolist(), rel=1e-6, abs=1e-7)


def test_passes_that_end_one_by_one_are_those_that_torch_adds_up() -> None:
    """In two updates, with numbers of one's own in the order of their names."""
    summaries, (one,) = made(3, OWN)
    for seed in (1, 5):
        by_torch, rows = Passes(OWN, one.found), one.drawn(60, seed, False)
        one.begin()
        for number in range(3):
            found = minibatches(1, 4, seed + number, one.device, 2)
            by_torch.end(found, 1)
            one.summariser.note(found, 1, False)
            for mine, others in zip(one.passes.tensors(), by_torch.tensors(), strict=True):
                torch.testing.assert_close(mine, others, rtol=1e-6, atol=1e-7)
        summaries([one.summariser.of_rows(*rows)])
        wanted = [float(each) for each in by_torch.means().values()]
        assert one.found.tolist() == pytest.approx([*wanted, explained(*rows)], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("num_envs", [1, 3, 40])
def test_policies_in_one_launch_find_what_each_finds_alone(num_envs: int) -> None:
    """Bit for bit, whatever block takes what; five policies are two launches, and None is none."""
    kinds, counts = (PPO, A2C, OWN, PPO, A2C), (9000, 1, 300, 5000, 40)
    results = []
    for joint in (True, False):
        summaries, policies = made(num_envs if joint else 7, *kinds)
        for _ in range(2):  # counters begin anew
            due = list[Summary | None]([None])
            for number, (one, count) in enumerate(zip(policies, counts, strict=True)):
                one.begin()
                found = minibatches(2, 3, number, one.device, 2 if kinds[number] is OWN else len(PPO))
                due.append(ended(one, found, 2, one.drawn(count, number, number % 2 == 0)))
            for each in [due] if joint else [[single] for single in due]:
                summaries(each)
        assert not any(bool(one.summariser._counter) for one in policies)
        results.append([*(one.found for one in policies), *(one.passes.tensors()[1] for one in policies)])
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


@pytest.mark.parametrize("value", [1e-3, 3.7, 1e30])
def test_returns_that_do_not_differ_explain_nothing(value: float) -> None:
    """Nor does a rollout of which no row counts."""
    summaries, (one,) = made(2, A2C)
    returns = torch.full((5000,), value, device=one.device)
    for mask in (None, torch.zeros(5000, dtype=torch.bool, device=one.device)):
        one.begin()
        summaries([ended(one, minibatches(1, 2, 1, one.device), 1, (returns, torch.zeros_like(returns), mask))])
        assert float(one.found[-1]) == 0.0
