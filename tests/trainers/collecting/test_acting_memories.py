"""Policies with a memory in the kernel that acts, beside the actors, whose networks torch runs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainers.acting import Kinds
from tests.trainers.acting_memories import NUM_ENVS, NUM_STEPS, policy_of, recorded
from tests.trainers.algorithms.ppo_cases import seeded
from tests.trainers.recall import Lives
from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import FixedPolicy, Relay
from warpworld.environment import Environment
from warpworld.managers.cpu.backend import CpuBackend
from warpworld.policies import Policy, ValueScale
from warpworld.policies.packed import perceptron_of, shape_of
from warpworld.trainers.collecting import acting_kernel
from warpworld.trainers.collecting.acting_kernel import ActingKernel, why_not
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.players import Slot
from warpworld.world import World


def check_same(plain: Recorded, fused: Recorded) -> None:
    """Both recorded the same steps, and remember the same."""
    for group in plain.world.groups:
        one, other = plain.trajectories(group), fused.trajectories(group)
        assert torch.equal(one.observations, other.observations)
        assert other.log_probs.unique().numel() > NUM_STEPS
        for name in ("actions", "log_probs", "values", "first_state", "first_cut", "next_state", "action_masks"):
            mine, theirs = getattr(one, name), getattr(other, name)
            if mine is not None:
                torch.testing.assert_close(theirs, mine, rtol=1e-5, atol=1e-5)
        assert other.values is not None and other.values.unique().numel() >= NUM_STEPS
        state = f"recurrent_state_{group}"
        torch.testing.assert_close(fused.world[state], plain.world[state], rtol=1e-5, atol=1e-5)
    for array in ("agent_cut", "not_finite", "rollout_rewards", "rollout_row"):
        if array in plain.world.data:
            torch.testing.assert_close(plain.world[array], fused.world[array], rtol=1e-5, atol=1e-5)


def move(collector: Recorded, seed: int) -> None:
    """Write other weights in place, as an optimiser does."""
    for group, actor in collector.actors.items():
        for parameter in actor.policy.parameters():  # type: ignore[union-attr]
            moved = torch.randn(parameter.shape, generator=seeded(seed + len(group))) * 0.1
            parameter.detach().add_(moved.to(parameter.device))


@pytest.fixture(params=[False, True], ids=["an env to a block", "envs share warps"])
def shares_warps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether small envs share warps, as many of them do."""
    monkeypatch.setattr(acting_kernel, "LEAST_BYTES_SHARED", 0 if request.param else 1 << 60)
    return request.param


CASES: dict[str, tuple[Environment, dict[str, Any]]] = {
    "two cells": (Lives(ending=0.1), {"cells": ("mingru", "lstm")}),
    "lives": (Lives(ending=0.1, dying=0.15), {"cells": ("mingru",), "recurrent_layers": 3, "hidden_sizes": [5, 9]}),
    "lives that are cut": (Lives(dying=0.1, cutting=0.15), {"cells": ("gru",), "recurrent_layers": 2}),
    "no hidden layer": (Lives(ending=0.1), {"cells": ("lstm", "gru"), "hidden_sizes": []}),
    "masks, boxes, a normaliser": (
        Kinds(),
        {"cells": ("mingru", "gru", "lstm"), "activation": "relu", "normalise_observations": True},
    ),
    "a kernel's env": (Relay(), {"cells": ("mingru",), "recurrent_size": 16, "recurrent_layers": 4}),
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_it_remembers_as_torch_does(case: str, shares_warps: bool) -> None:
    environment, settings = CASES[case]
    plain, fused = (recorded(environment, fuse, **settings) for fuse in (False, True))
    for rollout in range(3):
        for each in (plain, fused):
            each.collect()
        check_same(plain, fused)
        for each in (plain, fused):
            move(each, rollout)


@pytest.mark.cpu_backend
@pytest.mark.long
@pytest.mark.parametrize("cell", ["mingru", "gru", "lstm"])
def test_lanes_of_an_env_share_the_work(cell: str, shares_warps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: several lanes an env, which meet at barriers."""
    monkeypatch.setattr(CpuBackend, "side_by_side", True)
    environment = Lives(dying=0.1, cutting=0.15)
    plain, fused = (recorded(environment, fuse, [cell], recurrent_layers=2) for fuse in (False, True))
    for _ in range(2):
        for each in (plain, fused):
            each.collect()
        check_same(plain, fused)


@pytest.mark.long
def test_values_are_in_units_of_reward() -> None:
    collectors = []
    for fuse in (False, True):
        world = World(Lives(), NUM_ENVS, seed=3)
        policies = {group: policy_of(world, group, 1, "mingru") for group in world.groups}
        for policy in policies.values():
            policy.value_scale = ValueScale().to(world.device)
        collectors.append(Recorded(world, policies, NUM_STEPS))
        if fuse:
            collectors[-1].fuse()
            assert len(collectors[-1].kernels) == 1
        world.reset()
    for scale in (1.0, 7.0):  # follows what is learnt, in place
        for each in collectors:
            for actor in each.actors.values():
                actor.policy.value_scale.deviation.fill_(scale)  # type: ignore[union-attr]
                actor.policy.value_scale.mean.fill_(3.0 - scale)  # type: ignore[union-attr]
            each.collect()
        check_same(*collectors)


def leaning(seen: Tensor) -> Tensor:
    """Logits of three choices, from the first number that an agent sees."""
    return seen[..., :1] * torch.arange(3, device=seen.device) * 0.2


@pytest.mark.long
def test_opponents_in_slots() -> None:
    """One of the same shape, one of another, a player that is none, and one that acts at random, exchanged."""
    each_slots = [[Slot(("left",), slice(n, n + 1)) for n in range(1, 5)] for _ in range(2)]
    plain, fused = (
        recorded(Lives(dying=0.1, cutting=0.15), fuse, ["mingru"], slots)
        for fuse, slots in zip((False, True), each_slots, strict=True)
    )
    for turn in range(4):
        for each, slots in zip((plain, fused), each_slots, strict=True):
            same, wider = (policy_of(each.world, "left", 7, "mingru", hidden_sizes=[n]) for n in (8, 9))
            others: list[Any] = [same, wider, FixedPolicy(leaning), None]
            for number, slot in enumerate(slots):
                slot.player = others[(number + turn) % 4]
            each.collect()
        check_same(plain, fused)
        rows = [{0: 1, 1: -1, 2: -1, 3: -1}[(number + turn) % 4] for number in range(4)]
        assert fused.world["policy_players_left"].tolist() == [0, *rows, 0]
        assert fused.world["policy_players_right"].tolist() == [0] * NUM_ENVS


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["act", "act_greedily"])
def test_acting_without_records(kernel: str) -> None:
    worlds = [World(Lives(), NUM_ENVS, seed=3) for _ in range(2)]
    actors = [
        [Actor(world, group, policy_of(world, group, 1, "mingru"), kernel) for group in world.groups]
        for world in worlds
    ]
    joint = ActingKernel(worlds[1], actors[1], num_steps=1)
    for world in worlds:
        world.reset()
    joint.begin()
    for _ in range(9):
        for actor in actors[0]:
            actor.act()
        joint.act()
        for name in ("actions", "recurrent_state_left", "recurrent_values_right"):
            torch.testing.assert_close(worlds[0][name], worlds[1][name], rtol=1e-5, atol=1e-5)
        for world in worlds:
            world.step()
    assert worlds[0]["recurrent_values_right"].unique().numel() > 1


def reason(**settings: Any) -> str | None:
    world = World(Lives(), 2)
    return why_not(Actor(world, "left", policy_of(world, "left", 0, **{"cell": "mingru", **settings})))


def test_what_is_left_to_torch() -> None:
    assert reason(recurrent_layers=4) is None
    assert reason(recurrent_layers=5) == (
        "its memory has widths 6 - 6 - 6 - 6 - 6; the kernel takes up to 4 layers of up to 128"
    )
    assert reason(cell="gru", recurrent_size=129) == (
        "its memory has widths 129; the kernel takes up to 4 layers of up to 128"
    )
    assert reason(cell="transformer", recurrent_heads=2, recurrent_window=4) == "its memory is a Transformer"
    assert reason(hidden_sizes=[3, 3, 3]) == (
        "its actor has widths 3 - 3 - 3 - 3 - 3; the kernel takes up to 512 inputs and 2 hidden layers of up to 128, "
        "with as many outputs"
    )
    world = World(Lives(), 2)
    policy: Policy = policy_of(world, "left", 0, "lstm")
    assert not isinstance(shape_of(policy), str) and perceptron_of(policy) == "it remembers"
    policy.model.cell.register_forward_hook(lambda *given: None)  # type: ignore[union-attr, operator]
    assert shape_of(policy) == "its actor has forward hooks"
