"""The fused gradient where a choice or a limit decides nothing: heads without a choice, ties, one row."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from tests.policies.fused.fused_cases import Case, gradient_of, torch_gradient
from warpworld.policies import Policy
from warpworld.policies.fused import Loss, fused_networks
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.ppo import PPOSettings

PPO = PPOSettings(clip_coef=0.25, clip_vloss=True, norm_adv=False, ent_coef=0.5, vf_coef=1.0)
LOSS = Loss(surrogate=True, clip_value_loss=True, clip_coef=0.25, ent_coef=0.5, vf_coef=1.0)


def fused_gradient_of(policy: Policy, batch: Batch) -> torch.Tensor:
    net = fused_networks(policy)
    net.gradient(batch, torch.arange(len(batch)), LOSS)
    return gradient_of(policy)


def test_a_head_without_an_allowed_choice_has_no_gradient() -> None:
    """Its choices are equally likely, whatever the logits are: rows of agents that cannot act have such heads."""
    policy = (case := Case(hidden=(), heads=(3, 2), rows=40, masked=True)).policy()
    batch = case.batch(policy)
    batch.action_masks[:, :3] = False
    exact, _ = torch_gradient(policy, batch, PPO)
    found = fused_gradient_of(policy, batch)
    actor = policy.model.actor_layers[0].weight.grad
    assert actor[:3].eq(0).all()
    assert actor[3:].ne(0).any()
    assert (found - exact).norm() < 1e-5 * exact.norm()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_value_and_its_clipped_one_as_far_from_the_return_share_the_slope(sign: float) -> None:
    """Torch's maximum of two equal numbers gives half of the slope to each; the clipped side has none."""
    policy = (case := Case(hidden=(), rows=4)).policy()
    with torch.no_grad():
        policy.model.critic_layers[0].weight.zero_()
        policy.model.critic_layers[0].bias.fill_(0.75 * sign)
    batch = dataclasses.replace(case.batch(policy), values=torch.zeros(4), returns=torch.full((4,), 0.5 * sign))
    exact, _ = torch_gradient(policy, batch, PPO)
    found = fused_gradient_of(policy, batch)
    assert policy.model.critic_layers[0].bias.grad.item() == 0.125 * sign
    assert (found - exact).norm() < 1e-5 * exact.norm()
