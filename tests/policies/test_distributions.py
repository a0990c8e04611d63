"""Factored categorical actions against hand numbers, torch.distributions and numerical gradients."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from warpworld.policies.distributions.distribution import entropy, log_prob, log_prob_and_entropy

heads = st.lists(st.integers(1, 7), min_size=1, max_size=4)
seeds = st.integers(0, 2**32 - 1)


def draw(seed: int, head_sizes: list[int], lead: tuple[int, ...] = (5, 2)) -> tuple[torch.Tensor, torch.Tensor]:
    """Random float64 logits and int32 actions."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(*lead, sum(head_sizes), generator=generator, dtype=torch.float64)
    actions = [torch.randint(size, lead, generator=generator, dtype=torch.int32) for size in head_sizes]
    return logits, torch.stack(actions, -1)


def test_by_hand() -> None:
    # head 0: probabilities 1/4 3/4; head 1: 1/2 1/4 1/4
    logits = torch.tensor([0.0, math.log(3.0), math.log(2.0), 0.0, 0.0])
    # taken: the second of each, 3/4 * 1/4
    assert log_prob(logits, torch.tensor([1, 1]), [2, 3]).item() == pytest.approx(math.log(3 / 16), abs=1e-6)
    # entropy: 2 ln 2 - 3/4 ln 3, and 3/2 ln 2
    expected = 3.5 * math.log(2.0) - 0.75 * math.log(3.0)
    assert entropy(logits, [2, 3]).item() == pytest.approx(expected, abs=1e-6)


def test_uniform_and_certain_policies() -> None:
    uniform = torch.zeros(3, 9)
    assert torch.allclose(entropy(uniform, (4, 5)), torch.tensor(math.log(20.0)))
    certain = torch.tensor([0.0, -1e8, 0.0, -1e8])  # forbidden choices
    assert entropy(certain, (2, 2)).item() == 0.0
    assert log_prob(certain, torch.tensor([0, 0]), (2, 2)).item() == 0.0


@settings(max_examples=60)
@given(seed=seeds, head_sizes=heads)
def test_against_torch_distributions(seed: int, head_sizes: list[int]) -> None:
    logits, actions = draw(seed, head_sizes)
    reference = [torch.distributions.Categorical(logits=part) for part in logits.split(head_sizes, -1)]
    expected_log_prob = sum(d.log_prob(actions[..., i]) for i, d in enumerate(reference))
    expected_entropy = sum(d.entropy() for d in reference)
    torch.testing.assert_close(log_prob(logits, actions, head_sizes), expected_log_prob)
    torch.testing.assert_close(entropy(logits, head_sizes), expected_entropy)


@settings(max_examples=20)
@given(seed=seeds, head_sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_probabilities_of_all_joint_actions_add_up_to_one(seed: int, head_sizes: list[int]) -> None:
    logits, _ = draw(seed, head_sizes, lead=())
    every = torch.cartesian_prod(*[torch.arange(size) for size in head_sizes]).reshape(-1, len(head_sizes))
    log_probs = log_prob(logits.expand(len(every), -1), every, head_sizes)
    assert log_probs.exp().sum().item() == pytest.approx(1.0)
    assert entropy(logits, head_sizes).item() == pytest.approx(-(log_probs.exp() * log_probs).sum().item())


@settings(max_examples=20)
@given(seed=seeds, head_sizes=heads)
def test_both_at_once_are_the_same_bits(seed: int, head_sizes: list[int]) -> None:
    logits, actions = draw(seed, head_sizes)
    log_probs, entropies = log_prob_and_entropy(logits, actions, head_sizes)
    assert torch.equal(log_probs, log_prob(logits, actions, head_sizes))
    assert torch.equal(entropies, entropy(logits, head_sizes))


@pytest.mark.parametrize("head_sizes", [[1], [5], [3, 1, 4]])
def test_gradients(head_sizes: list[int]) -> None:
    logits, actions = draw(0, head_sizes)
    logits.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: log_prob(x, actions, head_sizes), logits)
    assert torch.autograd.gradcheck(lambda x: entropy(x, head_sizes), logits)


def test_shapes_and_dtypes() -> None:
    logits, actions = draw(0, [3, 2], lead=(4, 6, 2))
    logits = logits.float()
    for integer in (torch.uint8, torch.int32, torch.int64):
        result = log_prob(logits, actions.to(integer), (3, 2))
        assert result.shape == (4, 6, 2)
        assert result.dtype == torch.float32
    assert entropy(logits, (3, 2)).shape == (4, 6, 2)
