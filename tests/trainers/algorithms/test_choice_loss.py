"""The kernels of PPO's and A2C's losses against the losses' own formulas in float64, with autograd."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import warpworld
from warpworld import World
from warpworld.policies import Categorical
from warpworld.policies.fused import DIAGNOSTICS
from warpworld.trainers.algorithms.a2c import A2CSettings, a2c_loss
from warpworld.trainers.algorithms.experience import Batch
from warpworld.trainers.algorithms.ppo import PPOSettings, ppo_loss
from warpworld.trainers.algorithms.settings import LossTerms
from warpworld.trainers.algorithms.updates.choice_loss import ChoiceLoss, choice_loss

HEADS = {"one": (3,), "equal": (4, 4), "unequal": (2, 5, 3), "wide": (300,)}


def made(head_sizes: tuple[int, ...], num_envs: int) -> tuple[ChoiceLoss, World]:
    world = warpworld.make("cartpole", num_envs=num_envs)
    policy: Any = type("Acting", (), {"distribution": Categorical(head_sizes)})
    loss = choice_loss(policy, world)
    assert loss is not None
    world.reset()
    return loss, world


def rows_of(
    head_sizes: tuple[int, ...], count: int, masked: bool, device: torch.device
) -> tuple[Tensor, Tensor, Batch]:
    """Outputs, values and rows that are near each other, so that some are clipped and some are not."""
    generator = torch.Generator().manual_seed(count + len(head_sizes))
    outputs = torch.randn(count, sum(head_sizes), generator=generator)
    actions = torch.stack([torch.randint(size, (count,), generator=generator) for size in head_sizes], 1)
    allowed = torch.rand(count, sum(head_sizes), generator=generator) < 0.7
    first = 0
    for head, size in enumerate(head_sizes):
        allowed[torch.arange(count), first + actions[:, head]] = True
        first += size
    numbers = torch.randn(5, count, generator=generator)
    log_probs, _ = Categorical(head_sizes).log_prob_and_entropy(outputs, actions, allowed if masked else None)
    batch = Batch(
        observations=torch.zeros(count, 1, device=device),
        actions=actions.int().to(device),
        log_probs=(log_probs + 0.3 * numbers[0]).to(device),
        advantages=(3.0 * numbers[1] + 1.0).to(device),
        returns=numbers[2].to(device),
        values=numbers[3].to(device),
        mask=(torch.rand(count, generator=generator) < 0.6).to(device) if masked else None,
        action_masks=allowed.to(device) if masked else None,
    )
    return outputs.to(device), (numbers[3] + 0.4 * numbers[4]).to(device), batch


def expected(
    outputs: Tensor, values: Tensor, batch: Batch, head_sizes: tuple[int, ...], settings: Any
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Gradients at outputs and values, and diagnostics, by the losses in float64."""
    wide = {name: tensor.double() if tensor.is_floating_point() else tensor for name, tensor in batch.named_tensors()}
    rows = Batch(**wide)  # type: ignore[arg-type]
    outputs, values = outputs.double().requires_grad_(), values.double().requires_grad_()
    found = Categorical(head_sizes).log_prob_and_entropy(outputs, rows.actions, rows.action_masks)
    loss_of: Any = ppo_loss if isinstance(settings, PPOSettings) else a2c_loss
    loss, diagnostics = loss_of(*found, values, rows, settings)
    return *torch.autograd.grad(loss, (outputs, values)), diagnostics


def terms_of(settings: Any) -> LossTerms:
    if isinstance(settings, A2CSettings):
        return LossTerms(normalise_advantages=settings.norm_adv, ent_coef=settings.ent_coef, vf_coef=settings.vf_coef)
    return LossTerms(
        surrogate=True,
        clip_value_loss=settings.clip_vloss,
        normalise_advantages=settings.norm_adv,
        clip_coef=settings.clip_coef,
        ent_coef=settings.ent_coef,
        vf_coef=settings.vf_coef,
        kl_coef=settings.kl_coef,
    )


SETTINGS = {
    "ppo": PPOSettings(ent_coef=0.03, vf_coef=0.7),
    "ppo, plain": PPOSettings(norm_adv=False, clip_vloss=False, ent_coef=0.03),
    "ppo, with a penalty": PPOSettings(ent_coef=0.03, kl_coef=0.6),
    "a2c": A2CSettings(ent_coef=0.05, vf_coef=0.3),
    "a2c, normalised": A2CSettings(norm_adv=True),
}


def compare(found: tuple[Tensor, Tensor, dict[str, Tensor]], right: tuple[Tensor, Tensor, dict[str, Tensor]]) -> None:
    """Gradients to 1e-5 of their largest, diagnostics to 1e-5."""
    for mine, theirs in zip(found[:2], right[:2], strict=True):
        scale = float(theirs.abs().max()) + 1e-12
        torch.testing.assert_close(mine.double() / scale, theirs / scale, rtol=0, atol=1e-5)
    for name, value in right[2].items():
        torch.testing.assert_close(found[2][name].double(), value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("masked", [False, True], ids=["all count", "masked"])
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("name", SETTINGS)
def test_gradients_and_diagnostics_are_those_of_the_formulas(name: str, heads: str, masked: bool) -> None:
    loss, world = made(HEADS[heads], num_envs=5)
    given = rows_of(HEADS[heads], 1000, masked, world.device)
    found = loss(*given, terms_of(SETTINGS[name]))
    compare(found, expected(*given, HEADS[heads], SETTINGS[name]))


@pytest.mark.parametrize("name", ["ppo", "ppo, plain"])
def test_advantages_are_weighted_behind_their_normalisation(name: str) -> None:
    loss, world = made((3, 2), num_envs=5)
    outputs, values, batch = rows_of((3, 2), 400, True, world.device)
    weights = torch.rand(400, generator=torch.Generator().manual_seed(1)).to(world.device)
    given = outputs, values, batch.with_columns(importance=weights)
    compare(loss(*given, terms_of(SETTINGS[name])), expected(*given, (3, 2), SETTINGS[name]))


@pytest.mark.parametrize("count", [1, 2, 127, 129])
@pytest.mark.parametrize("num_envs", [1, 40])
def test_any_number_of_rows_on_any_number_of_envs(num_envs: int, count: int) -> None:
    loss, world = made((3, 2), num_envs)
    given = rows_of((3, 2), count, False, world.device)
    settings = PPOSettings(norm_adv=count > 2)  # of a single row or two the deviation is nearly nothing
    compare(loss(*given, terms_of(settings)), expected(*given, (3, 2), settings))


def test_where_no_row_counts_nothing_has_a_gradient() -> None:
    loss, world = made((3,), 4)
    outputs, values, batch = rows_of((3,), 50, True, world.device)
    assert batch.mask is not None
    batch.mask.fill_(False)
    batch.advantages.fill_(torch.nan)
    *gradients, diagnostics = loss(outputs, values, batch, terms_of(SETTINGS["ppo"]))
    assert all(not gradient.any() for gradient in gradients)
    assert {name: float(value) for name, value in diagnostics.items()} == dict.fromkeys(DIAGNOSTICS, 0.0)


def test_what_rows_that_do_not_count_hold_is_of_no_importance() -> None:
    loss, world = made((3,), 4)
    outputs, values, batch = rows_of((3,), 300, True, world.device)
    assert batch.mask is not None
    before = loss(outputs, values, batch, terms_of(SETTINGS["ppo"]))
    left_out = ~batch.mask
    outputs[left_out], values[left_out] = torch.nan, torch.inf
    for column in (batch.advantages, batch.returns, batch.log_probs):
        column[left_out] = torch.nan
    after = loss(outputs, values, batch, terms_of(SETTINGS["ppo"]))
    assert all(torch.equal(a, b) for a, b in zip(before[:2], after[:2], strict=True))
    assert all(torch.equal(before[2][name], after[2][name]) for name in DIAGNOSTICS)


def test_coefficients_are_read_where_the_device_has_them() -> None:
    loss, world = made((3,), 4)
    given = rows_of((3,), 100, False, world.device)
    on_device = {
        name: torch.tensor(0.1, device=world.device) for name in ("clip_coef", "ent_coef", "vf_coef", "kl_coef")
    }
    terms = LossTerms(surrogate=True, clip_value_loss=True, **on_device)
    first = loss(*given, terms)
    for tensor in on_device.values():
        tensor.fill_(0.4)
    second, plain = loss(*given, terms), loss(*given, LossTerms(True, True, False, 0.4, 0.4, 0.4, 0.4))
    assert torch.equal(second[0], plain[0]) and torch.equal(second[1], plain[1])
    assert not torch.equal(second[0], first[0])


def test_more_choices_than_a_block_holds_are_torchs() -> None:
    policy: Any = type("Acting", (), {"distribution": Categorical([400])})
    assert choice_loss(policy, warpworld.make("cartpole", num_envs=1)) is None
