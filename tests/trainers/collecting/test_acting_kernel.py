"""The kernel that acts for several groups in one launch, beside the actors, whose networks torch runs."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainers.acting import NUM_ENVS, NUM_STEPS, Kinds, policy_of, recorded
from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import FixedPolicy, Relay, Still
from warpworld.environment import Environment
from warpworld.managers.cpu.backend import CpuBackend
from warpworld.policies import Policy
from warpworld.policies.distributions.distribution import Gaussian
from warpworld.policies.networks.mlp import MLP
from warpworld.policies.packed import perceptron_of
from warpworld.trainers.collecting import acting_kernel
from warpworld.trainers.collecting.acting_kernel import ActingKernel, why_not
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.collector import Collector
from warpworld.trainers.collecting.players import Slot
from warpworld.trainers.collecting.rollout import Rollout
from warpworld.world import World


def outputs_of(policy: Policy, observations: Tensor) -> Tensor:
    """The outputs in float64, by the formulas of a perceptron."""
    x = observations.double()
    if policy.normaliser is not None:
        x = ((x - policy.normaliser.mean) / (policy.normaliser.variance + 1e-8).sqrt()).clamp(-10, 10)
    assert isinstance(policy.model, MLP)
    layers = list(policy.model.actor_layers)
    for layer in layers:
        if isinstance(layer, torch.nn.Linear):
            x = x @ layer.weight.detach().double().T + layer.bias.detach().double()
        else:
            x = x.tanh() if isinstance(layer, torch.nn.Tanh) else x.clamp(min=0)
    return x


def check_same(plain: Recorded, fused: Recorded, alone: bool = True) -> None:
    """Both recorded the same steps; where policies play alone, log-probabilities are those of networks in float64."""
    for name in plain.world.groups:
        one, other = plain.trajectories(name), fused.trajectories(name)
        assert torch.equal(one.observations, other.observations)
        assert other.log_probs.unique().numel() > NUM_STEPS
        torch.testing.assert_close(one.log_probs, other.log_probs, rtol=0, atol=1e-5)
        policy = fused.actors[name].policy
        assert isinstance(policy, Policy)
        if isinstance(policy.distribution, Gaussian):
            torch.testing.assert_close(one.actions, other.actions, rtol=1e-5, atol=1e-5)
        else:
            assert torch.equal(one.actions, other.actions)
        if other.action_masks is not None:
            assert torch.equal(one.action_masks, other.action_masks)
        if alone:
            outputs, distribution = outputs_of(policy, other.observations), copy.deepcopy(policy.distribution).double()
            log_probs, _ = distribution.log_prob_and_entropy(outputs, other.actions.double(), other.action_masks)
            torch.testing.assert_close(other.log_probs, log_probs.float(), rtol=0, atol=1e-5)
    for array in ("actions", "actions_even", "actions_odd", "not_finite", "rollout_rewards", "rollout_row"):
        if array in plain.world.data:
            torch.testing.assert_close(plain.world[array], fused.world[array], rtol=1e-5, atol=1e-5)


CASES: dict[str, tuple[Environment, dict[str, Any]]] = {
    "a kernel's env": (Relay(), {"hidden": (7, 60)}),
    "an agent's units in several lanes": (Kinds(), {"hidden": (36, 61)}),
    "masks, boxes, a normaliser": (Kinds(), {"hidden": (33,), "activation": "relu", "normalises": True}),
    "no hidden layer": (Kinds(), {"hidden": ()}),
    "more agents than are taken at once": (Still(left=37, left_features=48), {"hidden": (128, 128)}),
}


@pytest.fixture(params=[False, True], ids=["an env to a block", "envs share warps"])
def shares_warps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether small envs share warps, as many of them do."""
    monkeypatch.setattr(acting_kernel, "LEAST_BYTES_SHARED", 0 if request.param else 1 << 60)
    return request.param


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_it_acts_as_torch_does(case: str, shares_warps: bool) -> None:
    environment, kinds = CASES[case]
    plain, fused = (recorded(environment, fuse, **kinds) for fuse in (False, True))
    if isinstance(environment, Still):
        for each in (plain, fused):
            seen = torch.randn(NUM_ENVS, 37, 48, generator=torch.Generator().manual_seed(5))
            each.world["observations"] = seen.to(each.world.device)
    for rollout in range(2):
        for each in (plain, fused):
            each.collect()
        check_same(plain, fused)
        for each in (plain, fused):  # in place, as an optimiser writes them
            for group, actor in each.actors.items():
                generator = torch.Generator().manual_seed(rollout + len(group))
                for parameter in actor.policy.parameters():  # type: ignore[union-attr]
                    moved = torch.randn(parameter.shape, generator=generator) * 0.3
                    parameter.detach().add_(moved.to(parameter.device))


@pytest.mark.cpu_backend
@pytest.mark.long
def test_lanes_of_an_env_share_the_work(shares_warps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: several lanes an env, which meet at barriers."""
    monkeypatch.setattr(CpuBackend, "side_by_side", True)
    plain, fused = (recorded(Relay(), fuse) for fuse in (False, True))
    for each in (plain, fused):
        each.collect()
    check_same(plain, fused)


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["act", "act_greedily"])
def test_acting_without_records(kernel: str) -> None:
    environment = Kinds()
    worlds = [World(environment, NUM_ENVS, seed=3) for _ in range(2)]
    actors = [
        [Actor(world, group, policy_of(environment, group, 1, (6,)).to(world.device), kernel) for group in world.groups]
        for world in worlds
    ]
    joint = ActingKernel(worlds[1], actors[1], num_steps=1)
    for world in worlds:
        world.reset()
        world.step()  # to the first observations that are not 0
    joint.begin()
    for _ in range(5):
        for actor in actors[0]:
            actor.act()
        joint.act()
        for name in ("actions_even", "actions_odd", "actions_last"):
            torch.testing.assert_close(worlds[0][name], worlds[1][name], rtol=1e-5, atol=1e-5)
        assert worlds[0]["actions_even"].unique().numel() > 1
        for world in worlds:
            world.step()


def leaning(seen: Tensor) -> Tensor:
    """Logits for either group of Relay, from the first number that an agent sees."""
    outputs = {3: 4, 5: 5}[seen.shape[-1]]
    return seen[..., :1] * torch.arange(outputs, device=seen.device) * 0.2


@pytest.mark.long
def test_groups_that_act_at_random_do_so_in_the_kernel() -> None:
    environment, made = Kinds(), []
    for fuse in (False, True):
        collector = Collector(World(environment, NUM_ENVS, seed=3), NUM_STEPS)
        collector.act("even")
        collector.act("odd")
        last = policy_of(environment, "last", 1, (6,)).to(collector.world.device)
        collector.shared(Rollout).record("last", last)
        if fuse:
            collector.fuse()
            assert [len(kernel.actors) for kernel in collector.kernels] == [3]
        collector.world.reset()
        collector.collect()
        made.append(collector.world)
    for name in ("actions_even", "actions_odd", "rollout_actions_last"):
        assert torch.equal(made[0][name], made[1][name])
        assert made[0][name].unique().numel() > 1


@pytest.mark.long
def test_opponents_in_slots() -> None:
    """A network of the same shape, one of another, a player that is none, and one that acts at random, exchanged."""
    each_slots = [
        [Slot(("left",), slice(1, 2)), Slot(("left", "right"), slice(2, 4)), Slot(("right",), slice(5, 6))]
        for _ in range(2)
    ]
    plain, fused = (recorded(Relay(), fuse, slots) for fuse, slots in zip((False, True), each_slots, strict=True))
    for turn in range(3):
        for each, slots in zip((plain, fused), each_slots, strict=True):
            same, wider = (policy_of(Relay(), name, 7, (8, n)) for name, n in (("left", 5), ("right", 9)))
            others: Any = [same.to(each.world.device), None, wider.to(each.world.device)]
            others = others if turn else [None, FixedPolicy(leaning), each.actors["right"].policy]
            for slot, player in zip(slots, others, strict=True):
                slot.player = player
            each.collect()
        check_same(plain, fused, alone=False)
        rows = fused.world["policy_players_left"].tolist(), fused.world["policy_players_right"].tolist()
        assert rows == (
            ([0, 1, 3, 3, 0, 0], [0, 0, 3, 3, 0, -1]) if turn else ([0, 3, -1, -1, 0, 0], [0, 0, -1, -1, 0, 0])
        )


def test_what_is_left_to_torch() -> None:
    policy = policy_of(Relay(), "left", 0, (3,))
    assert isinstance(policy.model, MLP) and not isinstance(perceptron_of(policy), str)
    policy.model.actor_layers.register_forward_hook(lambda *given: None)
    assert perceptron_of(policy) == "its actor has forward hooks"
    world = World(Still(left=1025), 2)
    actor = Actor(world, "left", policy_of(Still(left=1025), "left", 0, (3,)))
    assert why_not(actor) == "it plays 1,025 agents of an env, more than 1,024"
    assert why_not(Actor(World(Relay(), 2), "left")) == "no policy plays it"


def test_networks_that_each_env_reads_anew_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting_kernel, "MOST_BYTES_READ", 2000)
    wide, narrow = (Actor(World(Relay(), 2), "left", policy_of(Relay(), "left", 0, (units,))) for units in (65, 64))
    assert why_not(wide) == "each of 2 envs would read its 524 weights anew, which is slower than torch's products"
    assert why_not(narrow) is None
