"""Actors of groups that act by choices and numbers at once."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.hybrid import HEADS, REACH, Hybrid, HybridPair, MaskedHybrid
from tests.trainers.recorded import Recorded
from warpworld import World
from warpworld.config import ModelConfig
from warpworld.policies import Policy, build_policy, scaling_to
from warpworld.trainers.collecting import Actor, Scripted, Slot

CHOICES = sum(HEADS)


def policy_of(world: World, seed: int = 0, log_std: tuple[float, float] = (-0.5, 0.3)) -> Policy:
    """One whose choices are far from uniform, and whose deviations differ."""
    policy = build_policy(ModelConfig(hidden_sizes=[8]), world.groups["arm"], torch.Generator().manual_seed(seed))
    with torch.no_grad():
        policy.model.actor_layers[-1].weight.mul_(100.0)  # type: ignore[index, union-attr]
        policy.distribution.log_std.copy_(torch.tensor(log_std))  # type: ignore[union-attr]
    return policy.to(world.device)


def acted(world: World, group: str = "arm") -> torch.Tensor:
    """Actions in the store as one row: choices, then numbers."""
    parts = world.actions(group)
    return torch.cat([parts["arm_grip"], parts["move"], parts["arm_reach"]], -1)


def reach(world: World) -> torch.Tensor:
    return torch.from_numpy(scaling_to(REACH)).to(world.device)


@pytest.mark.parametrize("environment", [Hybrid(arms=3), MaskedHybrid(), HybridPair()])
def test_what_is_recorded_was_done_and_has_its_probability(environment: Any) -> None:
    world = World(environment, 7, seed=3)
    policies = {group: policy_of(world) if group == "arm" else None for group in world.groups}
    rollout = Recorded(world, policies, 4)
    world.reset()
    rollout.collect()
    steps = rollout.trajectories("arm")
    masks = steps.action_masks
    assert (masks is None) == (not isinstance(environment, MaskedHybrid))
    policy = policies["arm"]
    assert policy is not None
    outputs = policy.outputs(steps.observations)
    log_probs, _ = policy.distribution.log_prob_and_entropy(outputs, steps.actions, masks)  # type: ignore[union-attr]
    torch.testing.assert_close(steps.log_probs, log_probs, atol=2e-5, rtol=2e-5)
    # the last row is what the store holds: choices as they are, numbers scaled and cut off
    drawn, done = steps.actions[-1], acted(world)
    assert drawn[..., :3].tolist() == done[..., :3].tolist()
    centre, scale, low, high = reach(world)
    torch.testing.assert_close(done[..., 3:], (centre + scale * drawn[..., 3:]).clamp(low, high))
    assert len(drawn[..., 3:].unique()) == drawn[..., 3:].numel()  # no number is drawn twice


@pytest.mark.parametrize("environment", [Hybrid, MaskedHybrid])
def test_draws_are_those_of_the_distribution(environment: Any) -> None:
    world = World(environment(arms=1), 20_000, seed=1)
    actor = Actor(world, "arm", policy_of(world))
    world.reset()
    world["observations"].zero_()
    actor.act()
    policy, done = actor.policy, acted(world)[:, 0].double()
    assert isinstance(policy, Policy)
    outputs = policy.outputs(torch.zeros(4, device=world.device)).double()
    logits, means = outputs[:CHOICES].clone(), outputs[CHOICES:]
    if environment is MaskedHybrid:
        logits[[0, 5]] = -torch.inf
    for place, head in enumerate(logits.split(list(HEADS))):
        shares = torch.bincount(done[:, place].long(), minlength=len(head)) / len(done)
        error = (head.softmax(-1) * (1 - head.softmax(-1)) / len(done)).sqrt()
        assert ((shares - head.softmax(-1)).abs() <= 5 * error).all()
    centre, scale, low, high = reach(world).double()
    inside = (done[:, 3:] > low) & (done[:, 3:] < high)
    normal = torch.distributions.Normal(centre + scale * means, scale * policy.distribution.log_std.double().exp())  # type: ignore[union-attr]
    for bound in (low, high):  # shares that lie beyond
        beyond = normal.cdf(bound) if bound is low else 1 - normal.cdf(bound)
        assert ((done[:, 3:] == bound).double().mean(0) - beyond).abs().max() < 0.02
    assert inside.any(0).all()


@pytest.mark.parametrize("greedy", [False, True])
def test_actions_do_not_depend_on_workers_or_on_other_envs(greedy: bool) -> None:
    found = []
    for num_envs, first, workers in ((6, 0, 1), (6, 0, 3), (2, 4, 1)):
        world = World(Hybrid(), num_envs, seed=5, first_env=first, num_workers=workers)
        actor = Actor(world, "arm", policy_of(world), "act_greedily" if greedy else "act", index=7)
        world.reset()
        for _ in range(3):
            actor.act()
            world.step()
        found.append(acted(world))
    assert found[0].tolist() == found[1].tolist() and found[0][4:].tolist() == found[2].tolist()
    assert len(found[0][..., 3].unique()) > 6


def test_policies_scripts_and_random_actions_share_a_group() -> None:
    world = World(Hybrid(), 3_000, seed=2)

    def script(arrays: Any, group: Any) -> torch.Tensor:
        outputs = torch.full((len(arrays["observations"]), group.size, CHOICES + 2), -50.0, device=world.device)
        outputs[..., [1, 2, 6]] = 50.0
        outputs[..., CHOICES:] = torch.tensor([0.25, -0.5], device=world.device)
        return outputs

    slots = [
        Slot(("arm",), slice(0, 1_000), None),
        Slot(("arm",), slice(1_000, 1_500), Scripted("still", script)),
        Slot(("arm",), slice(1_500, 2_000), policy_of(world, 1, (-15.0, -15.0))),
    ]
    actor = Actor(world, "arm", policy_of(world), slots=slots)
    world.reset()
    world["observations"].zero_()
    actor.act()
    done = acted(world)
    # at random: choices and numbers are uniform
    for place, choices in enumerate(HEADS):
        shares = torch.bincount(done[:1_000, :, place].flatten().long()) / 2_000
        assert (shares - 1 / choices).abs().max() < 0.06
    centre, scale = reach(world)[:2]
    numbers = (done[:1_000, :, 3:] - centre) / scale
    assert numbers.abs().max() <= 1 and (numbers.mean((0, 1)).abs() < 0.06).all()
    assert ((numbers**2).mean((0, 1)) - 1 / 3).abs().max() < 0.03
    # a script's numbers are meant as they are
    assert done[1_000:1_500].unique(dim=0).tolist() == [[[1, 0, 2, 0.5, 0.25]] * 2]
    # each policy has its own deviations
    assert done[1_500:2_000, :, 3].std() < 1e-4 < done[2_000:, :, 3].std()


def test_random_actions_need_no_policy() -> None:
    world = World(HybridPair(), 50, seed=4)
    actors = [Actor(world, group) for group in world.groups]
    world.reset()
    for actor in actors:
        actor.act()
    assert len(world["actions_goer"].unique()) == 4
    assert len(acted(world)[..., 4].unique()) == 100 and world.actions("arm")["arm_reach"][..., 1].min() >= 0
