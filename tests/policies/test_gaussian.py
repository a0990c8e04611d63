"""Normal distributions over actions in a Box."""

from __future__ import annotations

import math

import pytest
import torch

from warpworld.policies import Categorical, Gaussian


def test_by_hand() -> None:
    gaussian = Gaussian(2)
    with torch.no_grad():
        gaussian.log_std.copy_(torch.tensor([0.0, math.log(2.0)]))
    log_probs, entropies = gaussian.log_prob_and_entropy(torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 4.0]]))
    # deviations of 1 and 2 standard deviations; densities phi(1) and phi(2) / 2
    expected = -0.5 * (1 + 4) - math.log(2 * math.pi) - math.log(2)
    assert log_probs.tolist() == pytest.approx([expected])
    assert entropies.tolist() == pytest.approx([1 + math.log(2 * math.pi) + math.log(2)])


def test_against_torch_distributions_in_float64() -> None:
    gaussian = Gaussian(3).double()
    with torch.no_grad():
        gaussian.log_std.copy_(torch.tensor([-1.0, 0.3, 2.0]))
    means = torch.randn(7, 4, 3, dtype=torch.float64, requires_grad=True)
    actions = torch.randn(7, 4, 3, dtype=torch.float64) * 3
    normal = torch.distributions.Normal(means, gaussian.log_std.exp().expand_as(means))
    log_probs, entropies = gaussian.log_prob_and_entropy(means, actions)
    torch.testing.assert_close(log_probs, normal.log_prob(actions).sum(-1))
    torch.testing.assert_close(entropies, normal.entropy().sum(-1))
    mine = torch.autograd.grad((log_probs + entropies).sum(), [means, gaussian.log_std])
    theirs = torch.autograd.grad(
        (normal.log_prob(actions).sum(-1) + normal.entropy().sum(-1)).sum(), [means, gaussian.log_std]
    )
    torch.testing.assert_close(mine, theirs)


def test_forbidden_choices_have_no_probability_and_no_gradient() -> None:
    heads = Categorical((3, 2))
    logits = torch.tensor([[0.3, 5.0, -0.2, 1.0, 2.0]], requires_grad=True)
    masks = torch.tensor([[True, False, True, True, False]])
    log_probs, entropies = heads.log_prob_and_entropy(logits, torch.tensor([[0, 0]]), masks)
    p = 1 / (1 + math.exp(-0.5))  # between 0.3 and -0.2
    assert log_probs.item() == pytest.approx(math.log(p), abs=1e-6)
    assert entropies.item() == pytest.approx(-p * math.log(p) - (1 - p) * math.log(1 - p), abs=1e-6)
    (log_probs + entropies).sum().backward()
    assert logits.grad[~masks].tolist() == [0.0, 0.0]
    assert logits.grad[0, 0] != 0
    forbidden, _ = heads.log_prob_and_entropy(logits, torch.tensor([[1, 0]]), masks)
    assert forbidden.item() < -1e7


def test_where_all_choices_are_forbidden_all_are_alike() -> None:
    logits = torch.tensor([[0.3, 5.0, -0.2]])
    log_probs, entropies = Categorical((3,)).log_prob_and_entropy(
        logits, torch.tensor([[1]]), torch.zeros(1, 3, dtype=torch.bool)
    )
    assert log_probs.item() == pytest.approx(-math.log(3))
    assert entropies.item() == pytest.approx(math.log(3))
