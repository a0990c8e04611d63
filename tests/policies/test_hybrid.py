"""Distributions of choices and numbers together, beside torch's in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.distributions import Categorical as Choice
from torch.distributions import Normal

from tests.hybrid import ACTION, HEADS
from tests.toys import agents, box
from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.errors import StoreError
from warpworld.policies import Hybrid, Policy, action_distribution, build_policy

CHOICES, SIZE = sum(HEADS), 2


@pytest.fixture
def hybrid() -> Hybrid:
    found = Hybrid(HEADS, SIZE).double()
    with torch.no_grad():
        found.log_std.copy_(torch.tensor([-1.0, 0.7]))
    return found


@pytest.fixture
def outputs() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(6, 3, CHOICES + SIZE, dtype=torch.float64, generator=generator).requires_grad_()


def theirs(hybrid: Hybrid, outputs: torch.Tensor, actions: torch.Tensor, masks: torch.Tensor | None = None) -> Any:
    """Sums over torch's own distributions of each head and number."""
    logits, means = outputs[..., :CHOICES], outputs[..., CHOICES:]
    if masks is not None:
        logits = logits.masked_fill(~masks, -math.inf)
    log_prob, entropy = 0.0, 0.0
    for place, head in enumerate(logits.split(list(HEADS), -1)):
        choice = Choice(logits=head)
        log_prob = log_prob + choice.log_prob(actions[..., place])
        shares = choice.probs
        entropy = entropy - torch.special.xlogy(shares, shares).sum(-1)
    normal = Normal(means, hybrid.log_std.exp().expand_as(means))
    log_prob = log_prob + normal.log_prob(actions[..., len(HEADS) :]).sum(-1)
    return log_prob, entropy + normal.entropy().sum(-1)


def drawn(hybrid: Hybrid, outputs: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor:
    with torch.no_grad():
        return hybrid.choose(outputs, False, torch.Generator().manual_seed(2), allowed)


def test_log_probabilities_and_entropies_are_sums_over_parts(hybrid: Hybrid, outputs: torch.Tensor) -> None:
    actions = drawn(hybrid, outputs)
    mine, expected = hybrid.log_prob_and_entropy(outputs, actions), theirs(hybrid, outputs, actions)
    torch.testing.assert_close(mine, expected)
    parameters = [outputs, hybrid.log_std]
    gradients = [torch.autograd.grad((found[0] + 0.3 * found[1]).sum(), parameters) for found in (mine, expected)]
    torch.testing.assert_close(*gradients)


def test_masks_are_of_the_choices_alone(hybrid: Hybrid, outputs: torch.Tensor) -> None:
    masks = torch.ones(6, 3, CHOICES, dtype=torch.bool)
    masks[..., 0] = masks[..., 5] = False
    actions = drawn(hybrid, outputs, masks)
    assert set(actions[..., 0].flatten().tolist()) == {1.0} and 1.0 not in actions[..., 2].flatten().tolist()
    torch.testing.assert_close(
        hybrid.log_prob_and_entropy(outputs, actions, masks), theirs(hybrid, outputs, actions, masks)
    )


@pytest.mark.parametrize(("heads", "size"), [((3, 2), 0), ((), 4)])
def test_parts_of_one_kind_alone(heads: tuple[int, ...], size: int) -> None:
    hybrid = Hybrid(heads, size)
    outputs = torch.randn(5, hybrid.num_outputs)
    actions = hybrid.choose(outputs, greedy=False)
    assert actions.shape == (5, len(heads) + size)
    plain = hybrid.choices if heads else hybrid.numbers
    assert plain is not None
    torch.testing.assert_close(
        hybrid.log_prob_and_entropy(outputs, actions), plain.log_prob_and_entropy(outputs, actions)
    )


def test_greedy_actions_are_the_likeliest_choices_and_the_means(hybrid: Hybrid, outputs: torch.Tensor) -> None:
    actions = hybrid.choose(outputs, greedy=True)
    heads = outputs[..., :CHOICES].split(list(HEADS), -1)
    assert actions[..., :3].tolist() == torch.stack([head.argmax(-1) for head in heads], -1).double().tolist()
    assert actions[..., 3:].tolist() == outputs[..., CHOICES:].tolist()


def policy_of(**settings: Any) -> Policy:
    group = Group("arm", 2, box(4), ACTION)
    return build_policy(ModelConfig(**settings), group, torch.Generator().manual_seed(0))


def test_a_policy_gives_actions_of_its_space() -> None:
    policy = policy_of()
    assert isinstance(policy.distribution, Hybrid) and policy.distribution.head_sizes == HEADS
    seen = np.zeros(4, np.float32)
    for greedy in (True, False):
        assert ACTION.contains(policy.act(seen, greedy))
    many = policy.act(torch.zeros(5, 2, 4), generator=torch.Generator().manual_seed(3))
    assert many["move"].shape == (5, 2) and many["arm"]["reach"].shape == (5, 2, 2)
    assert many["move"].min() >= 1 and many["move"].max() <= 3
    assert many["arm"]["reach"][..., 1].min() >= 0 and many["arm"]["reach"][..., 1].max() <= 1


def test_masks_of_callers() -> None:
    policy, seen = policy_of(), torch.zeros(50, 4)
    row = torch.tensor([False, True, True, True, True, False, True])
    nested = {"move": np.array([[1, 0, 1]] * 50, np.int8), "arm": {"grip": np.array([[1, 2]] * 50), "reach": None}}
    for mask in (row.expand(50, 7), nested):
        acted = policy.act(seen, action_mask=mask, generator=torch.Generator().manual_seed(3))
        assert set(acted["move"].tolist()) == {1, 3} and acted["arm"]["grip"][:, 0].tolist() == [1] * 50
    policy.needs_mask = True
    with pytest.raises(StoreError, match=r"pass action_mask=, bool of shape \(50, 7\)"):
        policy.act(seen)
    with pytest.raises(StoreError, match=r"action_mask: no \['arm'\]\['grip'\], expected one for each part of Dict"):
        policy.act(seen, action_mask={"move": None})


def test_groups_without_parts_have_plain_distributions() -> None:
    assert not isinstance(action_distribution(agents()), Hybrid)
