"""PPO's loss against numbers worked by hand and a naive reference."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainers.algorithms.ppo_cases import HEADS, JUNK, Settings, make_batch, make_policy, seeded
from warpworld.policies.distributions.distribution import log_prob_and_entropy
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.ppo import ppo_loss

# --- the loss by hand -------------------------------------------------------------------------------------------------

# Three rows, clip_coef 0.2, ent_coef 0.01, vf_coef 0.5.
#
#        ratio   A    -A r   clipped r   -A clipped   max  |  new V  old V  return  (V-R)^2   clipped V   (..-R)^2   max
# row 0   1.5    2    -3.0      1.2         -2.4     -2.4  |   1.5    1.0    2.0     0.25     1.2          0.64     0.64
# row 1   0.5   -1     0.5      0.8          0.8      0.8  |   0.1    0.0    1.0     0.81     0.1          0.81     0.81
# row 2   1.1    3    -3.3      1.1         -3.3     -3.3  |   1.0    2.0    1.5     0.25     1.8          0.09     0.25
#
# policy_loss   = (-2.4 + 0.8 - 3.3) / 3 = -4.9 / 3
# value_loss    = (0.64 + 0.81 + 0.25) / 3 / 2 = 1.7 / 6
# entropy       = (0.6 + 0.3 + 0.9) / 3 = 0.6
# loss          = -4.9 / 3 - 0.01 * 0.6 + 0.5 * 1.7 / 6 = -1.4976667
# approx_kl     = mean of (r - 1) - ln r = (0.0945349 + 0.1931472 + 0.0046898) / 3 = 0.0974573
# old_approx_kl = mean of -ln r = (-0.4054651 + 0.6931472 - 0.0953102) / 3 = 0.0641240
# clipfrac      = 2 of 3 rows beyond 0.2


def doubles(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def by_hand(**changes: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor], list[torch.Tensor]]:
    """Loss and diagnostics of the three rows above, and its three inputs with gradients."""
    ratios = doubles(1.5, 0.5, 1.1)
    old_log_probs = doubles(-1.0, -2.0, -0.5)
    batch = Batch(
        observations=torch.zeros(3, 1),
        actions=torch.zeros(3, 1, dtype=torch.int32),
        log_probs=old_log_probs,
        advantages=doubles(2.0, -1.0, 3.0),
        returns=doubles(2.0, 1.0, 1.5),
        values=doubles(1.0, 0.0, 2.0),
    )
    inputs = [old_log_probs + ratios.log(), doubles(0.6, 0.3, 0.9), doubles(1.5, 0.1, 1.0)]
    inputs = [x.requires_grad_() for x in inputs]
    loss, diagnostics = ppo_loss(*inputs, batch, Settings(**{"norm_adv": False, **changes}))
    return loss, diagnostics, inputs


def test_loss_by_hand() -> None:
    loss, diagnostics, _ = by_hand()
    assert loss.item() == pytest.approx(-1.4976667, abs=1e-6)
    expected = {
        "policy_loss": -4.9 / 3,
        "value_loss": 1.7 / 6,
        "entropy": 0.6,
        "approx_kl": 0.0974573,
        "old_approx_kl": 0.0641240,
        "clipfrac": 2 / 3,
    }
    assert {name: value.item() for name, value in diagnostics.items()} == pytest.approx(expected, abs=1e-6)


def test_gradient_by_hand() -> None:
    loss, _, (log_probs, entropies, values) = by_hand()
    loss.backward()
    # rows 0 and 1 are clipped; d(-A r)/d(log-prob) = -A r, so row 2: -3.3 / 3
    assert log_probs.grad.tolist() == pytest.approx([0.0, 0.0, -1.1])
    assert entropies.grad.tolist() == pytest.approx([-0.01 / 3] * 3)
    # row 0 is clipped; others vf_coef * (V - R) / 3: 0.5 * -0.9 / 3 and 0.5 * -0.5 / 3
    assert values.grad.tolist() == pytest.approx([0.0, -0.15, -0.25 / 3])


def test_value_loss_without_clipping_by_hand() -> None:
    assert by_hand(clip_vloss=False)[1]["value_loss"].item() == pytest.approx((0.25 + 0.81 + 0.25) / 6)


def test_normalised_advantages_by_hand() -> None:
    # A = 2, -1, 3: mean 4/3, variance (4 + 49 + 25) / 9 / 2 = 13/3, so A = 0.3202563, -1.1208971, 0.8006408
    # -0.3202563 * 1.2 + 1.1208971 * 0.8 - 0.8006408 * 1.1 = -0.3682947
    assert by_hand(norm_adv=True)[1]["policy_loss"].item() == pytest.approx(-0.3682947 / 3, abs=1e-6)


# --- the loss against a naive reference -------------------------------------------------------------------------------


def naive_loss(log_probs: Any, entropies: Any, values: Any, batch: Batch, options: Settings) -> torch.Tensor:
    """CleanRL's formulas row by row, over the rows that count."""
    rows = [i for i in range(len(batch)) if batch.mask is None or batch.mask[i]]
    advantages = {i: batch.advantages[i] for i in rows}
    if options.norm_adv:
        mean = sum(advantages.values()) / len(rows)
        std = (sum((a - mean) ** 2 for a in advantages.values()) / (len(rows) - 1)) ** 0.5
        advantages = {i: (a - mean) / (std + 1e-8) for i, a in advantages.items()}
    low, high = 1 - options.clip_coef, 1 + options.clip_coef
    total = torch.zeros((), dtype=torch.float64)
    for i in rows:
        ratio = (log_probs[i] - batch.log_probs[i]).exp()
        clipped_ratio = min(max(ratio, low), high)
        total = total + max(-advantages[i] * ratio, -advantages[i] * clipped_ratio)
        error = (values[i] - batch.returns[i]) ** 2
        if options.clip_vloss:
            change = min(max(values[i] - batch.values[i], -options.clip_coef), options.clip_coef)
            error = max(error, (batch.values[i] + change - batch.returns[i]) ** 2)
        total = total + options.vf_coef * 0.5 * error - options.ent_coef * entropies[i]
        total = total + options.kl_coef * (ratio - 1 - ratio.log())
    return total / len(rows)


def random_case(seed: int, rows: int, masked: bool) -> tuple[list[torch.Tensor], Batch]:
    """Float64 inputs of ``ppo_loss``, ratios on both sides of the clip range; at least two rows count."""
    generator = seeded(seed)

    def draw() -> torch.Tensor:
        return torch.randn(rows, generator=generator, dtype=torch.float64)

    mask = torch.rand(rows, generator=generator) < 0.5
    mask[:2] = True
    batch = Batch(
        observations=torch.zeros(rows, 1),
        actions=torch.zeros(rows, 1, dtype=torch.int32),
        log_probs=draw(),
        advantages=draw(),
        returns=draw(),
        values=draw(),
        mask=mask if masked else None,
    )
    inputs = [batch.log_probs + 0.3 * draw(), draw().abs(), batch.values + 0.3 * draw()]
    return [x.requires_grad_() for x in inputs], batch


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(2, 9),
    masked=st.booleans(),
    clip_vloss=st.booleans(),
    norm_adv=st.booleans(),
    kl_coef=st.sampled_from([0.0, 0.7]),
)
def test_loss_and_gradient_against_the_naive_reference(seed: int, rows: int, masked: bool, **given: Any) -> None:
    inputs, batch = random_case(seed, rows, masked)
    options = Settings(**given)
    loss, _ = ppo_loss(*inputs, batch, options)
    expected = naive_loss(*inputs, batch, options)
    torch.testing.assert_close(loss, expected)
    gradients = torch.autograd.grad(loss, inputs)
    references = torch.autograd.grad(expected, inputs, materialize_grads=True)
    for gradient, reference in zip(gradients, references, strict=True):
        torch.testing.assert_close(gradient, reference)


def test_the_penaltys_gradient_is_that_of_the_divergence_between_the_policies() -> None:
    """Weighed by the old policy's probabilities of all actions, it is KL(old, new)'s, in float64."""
    old, new = (torch.randn(6, generator=seeded(seed), dtype=torch.float64).requires_grad_() for seed in (1, 2))
    before, now = old.detach().log_softmax(0), new.log_softmax(0)
    (expected,) = torch.autograd.grad((before.exp() * (before - now)).sum(), new, retain_graph=True)
    log_ratio = now - before
    of_actions = (log_ratio.exp() - 1) - log_ratio  # approx_kl of each action
    (found,) = torch.autograd.grad((before.exp() * of_actions).sum(), new)
    torch.testing.assert_close(found, expected)


def test_a_networks_float32_gradient_against_float64_and_torch_distributions() -> None:
    policy = make_policy()
    batch = make_batch(make_policy(), rows=32)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=seeded(5)))
    exact = copy.deepcopy(policy).double()

    logits, values = policy(batch.observations)
    log_probs, entropies = log_prob_and_entropy(logits, batch.actions, HEADS)
    ppo_loss(log_probs, entropies, values, batch, Settings())[0].backward()

    wide = Batch(*[x.double() if x.is_floating_point() else x for _, x in batch.named_tensors()])
    logits, values = exact(wide.observations)
    each = [torch.distributions.Categorical(logits=part) for part in logits.split(HEADS, -1)]
    log_probs = sum(d.log_prob(wide.actions[:, i].long()) for i, d in enumerate(each))
    naive_loss(log_probs, sum(d.entropy() for d in each), values, wide, Settings()).backward()
    for mine, reference in zip(policy.parameters(), exact.parameters(), strict=True):
        torch.testing.assert_close(mine.grad.double(), reference.grad, rtol=1e-4, atol=1e-6)


# --- rows that do not count -------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(3, 12), junk=st.sampled_from(JUNK), norm_adv=st.booleans())
def test_masked_rows_have_no_influence_on_the_loss(seed: int, rows: int, junk: float, norm_adv: bool) -> None:
    inputs, batch = random_case(seed, rows, masked=True)

    def spoil(x: torch.Tensor) -> torch.Tensor:
        return torch.where(batch.mask, x, junk) if x.dim() == 1 and x.is_floating_point() else x

    spoilt = dataclasses.replace(batch, **{name: spoil(x) for name, x in batch.named_tensors()})
    spoilt_inputs = [spoil(x.detach()).requires_grad_() for x in inputs]
    loss, diagnostics = ppo_loss(*inputs, batch, Settings(norm_adv=norm_adv))
    other, other_diagnostics = ppo_loss(*spoilt_inputs, spoilt, Settings(norm_adv=norm_adv))
    assert torch.equal(loss, other)
    assert all(torch.equal(diagnostics[name], other_diagnostics[name]) for name in diagnostics)
    loss.backward()
    other.backward()
    for mine, theirs in zip(inputs, spoilt_inputs, strict=True):
        assert torch.equal(mine.grad, theirs.grad)
        assert mine.grad[~batch.mask].count_nonzero() == 0


def test_the_loss_with_a_mask_is_that_of_the_counted_rows() -> None:
    inputs, batch = random_case(3, 12, masked=True)
    loss, diagnostics = ppo_loss(*inputs, batch, Settings())
    counted, expected = ppo_loss(*[x[batch.mask] for x in inputs], batch.counted(), Settings())
    torch.testing.assert_close(loss, counted)
    torch.testing.assert_close(diagnostics, expected)
