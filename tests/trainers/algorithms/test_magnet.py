"""A pull to the policy with averaged weights: beside the KL divergence in float64, and in updates and runs."""

from __future__ import annotations

import copy
import math
from itertools import product

import pytest
import torch
from torch import Tensor

from tests.policies.fused.fused_cases import gradient_of
from tests.trainers.algorithms.ppo_cases import (
    FEATURES,
    HEADS,
    Settings,
    equal_weights,
    make_batch,
    make_policy,
    seeded,
)
from warpworld.config import load_config
from warpworld.errors import ConfigError
from warpworld.policies import Policy
from warpworld.policies.fused import fused_networks
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.ppo import PPO
from warpworld.trainers.building import fuse_policies

COEF, ENT = 0.7, 0.2
PLAIN = {"norm_adv": False, "clip_coef": 1e6, "vf_coef": 0.0, "ent_coef": ENT}


def pulled_to_another(policy: Policy, **settings: float) -> PPO:
    """An algorithm whose averaged weights are others than the policy's."""
    algorithm = PPO(policy, Settings(**PLAIN, ema_decay=0.5, magnet_coef=COEF, **settings))
    with torch.no_grad():
        for seed, weight in enumerate(algorithm.shown.parameters()):
            weight.add_(0.5 * torch.randn(weight.shape, generator=seeded(seed)))
    return algorithm


def all_actions(masked: bool) -> tuple[Batch, int]:
    """Rows with each action of each of five observations, as if all had been drawn with the same probability."""
    actions = torch.tensor([*product(*map(range, HEADS))], dtype=torch.int32)
    seen = torch.randn(5, FEATURES, generator=seeded(7))
    count = len(actions)
    masks = torch.ones(5, sum(HEADS), dtype=torch.bool)
    masks[:3, 1] = masks[2:, 3] = not masked
    zeros = torch.zeros(5 * count)
    log_probs = torch.full((5 * count,), -math.log(count))
    rows = seen.repeat_interleave(count, 0), actions.repeat(5, 1), log_probs, zeros, zeros, zeros
    return Batch(*rows, action_masks=masks.repeat_interleave(count, 0)), count


def log_probs_of(policy: Policy, batch: Batch) -> list[Tensor]:
    """Log-probabilities of each head's choices, in float64, of a copy whose parameters have gradients."""
    assert batch.action_masks is not None
    outputs = policy(batch.observations.double())[0].masked_fill(~batch.action_masks, -1e8)
    return [head.log_softmax(-1) for head in outputs.split(list(HEADS), -1)]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("in_cpp", [False, True])
def test_the_gradient_is_that_of_the_divergence(in_cpp: bool, masked: bool) -> None:
    """Over all actions by their probability: of magnet_coef * KL(policy, average) - ent_coef * entropy."""
    algorithm, (batch, _) = pulled_to_another(make_policy()), all_actions(masked)
    policy, twin, magnet = (
        algorithm.policy,
        *(copy.deepcopy(each).double() for each in (make_policy(), algorithm.shown)),
    )
    batch = algorithm.pulled(batch).rows
    if in_cpp:
        terms = algorithm.loss_terms()
        assert terms is not None
        fused_networks(policy, 1).gradient(batch, torch.arange(len(batch)), terms.in_cpp())
    else:
        algorithm.losses(batch)[0].backward()
    loss = torch.zeros((), dtype=torch.float64)
    for own, other in zip(log_probs_of(twin, batch), log_probs_of(magnet, batch), strict=True):
        entropy, divergence = -(own.exp() * own).sum(-1).mean(), (own.exp() * (own - other.detach())).sum(-1).mean()
        loss = loss + COEF * divergence - ENT * entropy
    loss.backward()
    torch.testing.assert_close(gradient_of(policy).double(), gradient_of(twin), rtol=1e-4, atol=1e-6)
    assert gradient_of(twin).norm() > 0.01


@pytest.mark.parametrize("in_cpp", [False, True])
def test_an_update_pulls(in_cpp: bool) -> None:
    """It is the update without it from rows that were pulled, with as much more of an entropy bonus."""
    policies = make_policy(), make_policy()
    if in_cpp:
        fuse_policies(dict(zip("ab", policies, strict=True)), True)
    pulling = pulled_to_another(policies[0], num_minibatches=4)
    other = PPO(policies[1], Settings(**{**PLAIN, "ent_coef": ENT + COEF, "num_minibatches": 4}))
    batch = make_batch(policies[0], masked=True)
    rows = pulling.pulled(batch).rows
    assert not torch.allclose(rows.advantages, batch.advantages)
    other.update(rows, seeded())
    pulling.update(batch, seeded())
    assert equal_weights(*policies)
    unmoved = PPO(make_policy(), Settings(**PLAIN, num_minibatches=4))
    unmoved.update(batch, seeded())
    assert not equal_weights(unmoved.policy, policies[0])


def test_without_it_rows_stay_as_they_are() -> None:
    policy = make_policy()
    batch = make_batch(policy)
    assert PPO(policy, Settings(ema_decay=0.5)).pulled(batch) is batch


WANTED = ["policy.agent.magnet_coef=0.5", "policy.agent.ema_decay=0.9", "policy.agent.norm_adv=false"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["policy.agent.ema_decay=null"], "magnet_coef is 0.5, but ema_decay is null, so that no weights are averaged"),
        (["policy.agent.norm_adv=true"], "magnet_coef is 0.5, but norm_adv is true: the divergence is in units of rew"),
        (
            ["policy.agent.magnet_coef=[[0, 1], [100, 0]]", "policy.agent.model.recurrent=lstm"],
            "magnet_coef is a schedule, but the policy has a memory, expected one without; set magnet_coef=0",
        ),
        (["policy.agent.magnet_coef=-1"], "magnet_coef is -1, expected a finite number of at least 0, or points"),
    ],
)
def test_refusals(words: list[str], message: str) -> None:
    load_config("cartpole", WANTED)
    with pytest.raises(ConfigError) as error:
        load_config("cartpole", [*WANTED, *words])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_it_is_no_key_of_a2c() -> None:
    with pytest.raises(ConfigError, match="magnet_coef is not a known key of a2c: it is one of ppo, mappo"):
        load_config("acrobot", ["policy.agent.algorithm=a2c", WANTED[0]])
