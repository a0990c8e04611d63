"""The kernels of PPO's and A2C's losses for actions in a Box against their formulas in float64, with autograd."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor

import warpworld
from tests.trainers.algorithms.test_choice_loss import SETTINGS, compare, terms_of
from warpworld import World
from warpworld.policies import Gaussian
from warpworld.policies.fused import DIAGNOSTICS
from warpworld.trainers.algorithms.a2c import a2c_loss
from warpworld.trainers.algorithms.experience import Batch
from warpworld.trainers.algorithms.ppo import PPOSettings, ppo_loss
from warpworld.trainers.algorithms.updates.box_loss import MOST_NUMBERS, BoxLoss, row_loss


def made(size: int, num_envs: int) -> tuple[BoxLoss, Gaussian, World]:
    """Kernels, and a distribution whose deviations differ."""
    world, distribution = warpworld.make("cartpole", num_envs=num_envs), Gaussian(size)
    distribution.to(world.device)
    with torch.no_grad():
        distribution.log_std.copy_(torch.linspace(-0.8, 0.5, size))
    policy: Any = type("Acting", (), {"distribution": distribution})
    loss = row_loss(policy, world)
    assert isinstance(loss, BoxLoss)
    distribution.log_std.grad = torch.zeros(size, device=world.device)
    world.reset()
    return loss, distribution, world


def rows_of(distribution: Gaussian, count: int, masked: bool) -> tuple[Tensor, Tensor, Batch]:
    """Means, values and rows that are near each other, so that some are clipped and some are not."""
    size, device = distribution.num_outputs, distribution.log_std.device
    generator = torch.Generator().manual_seed(count + size)
    means, noise = (torch.randn(count, size, generator=generator) for _ in range(2))
    log_std = distribution.log_std.detach().cpu()
    actions = means + log_std.exp() * noise
    numbers = torch.randn(5, count, generator=generator)
    log_probs = (-0.5 * noise**2 - log_std - 0.5 * torch.log(torch.tensor(2 * torch.pi))).sum(1)
    batch = Batch(
        observations=torch.zeros(count, 1, device=device),
        actions=actions.to(device),
        log_probs=(log_probs + 0.3 * numbers[0]).to(device),
        advantages=(3.0 * numbers[1] + 1.0).to(device),
        returns=numbers[2].to(device),
        values=numbers[3].to(device),
        mask=(torch.rand(count, generator=generator) < 0.6).to(device) if masked else None,
        importance=torch.rand(count, generator=generator).to(device) if masked else None,
    )
    return means.to(device), (numbers[3] + 0.4 * numbers[4]).to(device), batch


def check(loss: BoxLoss, distribution: Gaussian, given: tuple[Tensor, Tensor, Batch], settings: Any) -> None:
    """That gradients at means, values and deviations, and diagnostics, are those of the losses in float64."""
    means, values, batch = given
    assert loss.takes(batch)
    assert distribution.log_std.grad is not None
    distribution.log_std.grad.fill_(3.0)
    found = loss(means, values, batch, terms_of(settings))
    loss.give()
    wide = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in batch.named_tensors()}
    rows, exact = Batch(**wide), Gaussian(distribution.num_outputs)  # type: ignore[arg-type]
    exact.log_std = torch.nn.Parameter(distribution.log_std.detach().double())
    means, values = means.double().requires_grad_(), values.double().requires_grad_()
    loss_of: Any = ppo_loss if isinstance(settings, PPOSettings) else a2c_loss
    whole, diagnostics = loss_of(*exact.log_prob_and_entropy(means, rows.actions), values, rows, settings)
    *gradients, of_log_std = torch.autograd.grad(whole, (means, values, exact.log_std))
    compare(found, (*gradients, diagnostics))  # type: ignore[arg-type]
    given_to = distribution.log_std.grad.double() - 3.0  # it is added to what is there
    torch.testing.assert_close(given_to, of_log_std, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("masked", [False, True], ids=["all count", "masked"])
@pytest.mark.parametrize("size", [1, 3, MOST_NUMBERS])
@pytest.mark.parametrize("name", SETTINGS)
def test_gradients_and_diagnostics_are_those_of_the_formulas(name: str, size: int, masked: bool) -> None:
    loss, distribution, _ = made(size, num_envs=5)
    means, values, batch = rows_of(distribution, 1000, masked)
    if not isinstance(SETTINGS[name], PPOSettings):  # A2C has no weights
        batch = dataclasses.replace(batch, importance=None)
    check(loss, distribution, (means, values, batch), SETTINGS[name])


@pytest.mark.parametrize("count", [1, 2, 127, 129])
@pytest.mark.parametrize("num_envs", [1, 40])
def test_any_number_of_rows_on_any_number_of_envs(num_envs: int, count: int) -> None:
    loss, distribution, _ = made(2, num_envs)
    settings = PPOSettings(norm_adv=count > 2)  # of a single row or two the deviation is nearly nothing
    check(loss, distribution, rows_of(distribution, count, False), settings)


def test_rows_that_do_not_count_have_no_gradient_whatever_they_hold() -> None:
    loss, distribution, _ = made(2, 4)
    means, values, batch = rows_of(distribution, 50, True)
    assert batch.mask is not None and distribution.log_std.grad is not None
    batch.mask.fill_(False)
    means.fill_(torch.nan)
    batch.advantages.fill_(torch.nan)
    *gradients, diagnostics = loss(means, values, batch, terms_of(SETTINGS["ppo"]))
    loss.give()
    assert all(not gradient.any() for gradient in (*gradients, distribution.log_std.grad))
    assert {name: float(value) for name, value in diagnostics.items()} == dict.fromkeys(DIAGNOSTICS, 0.0)


def test_more_numbers_than_a_lane_has_sums_for_are_torchs() -> None:
    policy: Any = type("Acting", (), {"distribution": Gaussian(MOST_NUMBERS + 1)})
    assert row_loss(policy, warpworld.make("cartpole", num_envs=1)) is None
