"""Slots: who acts in which envs, whose rows are learnt from, and whose returns are told of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import Aim, Clockwork, Still, same_logits, space
from warpworld.config import ModelConfig
from warpworld.environment import Group
from warpworld.errors import DeclarationError
from warpworld.policies import RecurrentPolicy, build_policy
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.collecting.actor import Actor
from warpworld.trainers.collecting.episodes import EpisodeStatistics
from warpworld.trainers.collecting.players import Scripted, Slot, split_envs
from warpworld.world import World

ALWAYS = [[0.0, -1e9, -1e9], [-1e9, 0.0, -1e9], [-1e9, -1e9, 0.0]]  # logits: choice 0, 1 or 2


def begun(rollout: Recorded) -> Recorded:
    rollout.world.reset()
    return rollout


def test_the_envs_of_no_slot_lie_between() -> None:
    first, second = Slot(("left",), slice(5, 7)), Slot(("left",), slice(2, 4))
    parts = [(slot, (envs.start, envs.stop)) for slot, envs in split_envs([first, second], 9)]
    assert parts == [(None, (0, 2)), (second, (2, 4)), (None, (4, 5)), (first, (5, 7)), (None, (7, 9))]
    assert split_envs([], 3) == [(None, slice(0, 3))]


def test_each_range_acts_with_its_own_player() -> None:
    """Own policy takes choice 0; a script 1; another policy 2; nobody, anything."""
    world = World(Clockwork(), 12)

    def ones(arrays: Any, group: Group) -> Tensor:
        envs, agents = arrays["actions"].shape[0], group.size
        return torch.tensor(ALWAYS[1]).expand(envs, agents, 3)

    slots = [
        Slot(("left",), slice(2, 5), Scripted("ones", ones)),
        Slot(("left", "right"), slice(5, 8), same_logits(ALWAYS[2])),  # type: ignore[arg-type]
        Slot(("right",), slice(8, 12), None),
    ]
    policies = {"left": same_logits(ALWAYS[0]), "right": same_logits(ALWAYS[1])}
    rollout = begun(Recorded(world, policies, 32, graph_steps=0, slots=slots))  # type: ignore[arg-type]
    rollout.collect()
    left, right = world["rollout_actions_left"][..., 0], world["rollout_actions_right"][..., 0]
    for envs, choice in ((slice(0, 2), 0), (slice(2, 5), 1), (slice(5, 8), 2), (slice(8, 12), 0)):
        assert (left[:, envs] == choice).all(), envs
    for envs, choice in ((slice(0, 5), 1), (slice(5, 8), 2)):
        assert (right[:, envs] == choice).all(), envs
    counts = right[:, 8:].flatten().bincount(minlength=3)
    assert counts.min() > 20, counts  # 128 draws of three choices


def test_a_script_sees_the_envs_of_its_slot() -> None:
    world = World(Clockwork(), 6)
    seen: list[tuple[Tensor, Tensor]] = []

    def look(arrays: Any, group: Group) -> Tensor:
        seen.append((arrays["timestep"].clone(), arrays["observations"][:, group.slice, 1].clone()))
        return torch.zeros(2, 1, 3)

    slots = [Slot(("right",), slice(3, 5), Scripted("look", look))]
    rollout = begun(Recorded(world, dict.fromkeys(world.groups), 2, graph_steps=0, slots=slots))
    rollout.collect()
    assert [timestep.tolist() for timestep, _ in seen] == [[0, 0], [1, 1]]
    assert all(envs[:, 0].tolist() == [3.0, 4.0] for _, envs in seen)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (lambda arrays, group: torch.zeros(4, 3), r"gives \(4, 3\) of torch.float32, expected a tensor \(4, 1, 3\)"),
        (lambda arrays, group: torch.zeros(4, 1, 3, dtype=torch.float64), r"of torch.float64, expected .* of float32"),
        (lambda arrays, group: 7, r"gives int, expected a tensor \(4, 1, 3\) of float32"),
        (lambda arrays, group: arrays["nothing"], r"script 'wrong' for group 'right' fails: StoreError: .*nothing"),
    ],
)
def test_a_script_that_is_none(given: Any, expected: str) -> None:
    world = World(Clockwork(), 4)
    world.reset()
    with pytest.raises(DeclarationError, match=expected):
        Scripted("wrong", given).check(world, world.groups["right"], 3)


def test_a_script_for_actions_in_a_box_means_what_it_says() -> None:
    """Aim's box is -1 to 3, and 0 to infinity: 0.5 and 0.25 lead to 2 and 0.25."""
    world = World(Aim(), 3)
    means = torch.tensor([0.5, 0.25], device=world.device)
    player = Scripted("still", lambda arrays, group: means.expand(3, 2, 2))
    actor = Actor(world, "archer", player)
    world.reset()
    for _ in range(50):
        actor.act()
        torch.testing.assert_close(world["actions"].cpu(), torch.tensor([2.0, 0.25]).expand(3, 2, 2), rtol=0, atol=1e-6)


# --- what is learnt from ----------------------------------------------------------------------------------------------


def batch_of(slots: Sequence[Slot], group: str) -> tuple[World, Batch]:
    world = World(Clockwork(), 6)
    policies = dict.fromkeys(world.groups, same_logits(ALWAYS[0]))
    rollout = begun(Recorded(world, policies, 4, graph_steps=0, slots=slots))  # type: ignore[arg-type]
    rollout.collect()
    found = rollout.batch(group, policies[group], 0.9, 0.9)  # type: ignore[arg-type]
    assert isinstance(found, Batch)
    return world, found


def test_rows_that_an_opponent_played_are_not_learnt_from() -> None:
    slots = [Slot(("left",), slice(2, 3), same_logits(ALWAYS[1])), Slot(("right",), slice(4, 6), None)]  # type: ignore[arg-type]
    _, left = batch_of(slots, "left")
    _, right = batch_of(slots, "right")
    assert sorted(set(left.counted().observations[:, 1].tolist())) == [0, 1, 3, 4, 5]  # the env is what agents see
    assert len(left.counted()) == 4 * 5 * 2
    assert sorted(set(right.counted().observations[:, 1].tolist())) == [0, 1, 2, 3]
    assert len(right.counted()) == 4 * 4 * 1
    both = Batch.join([left, right])
    assert len(both.counted()) == 4 * 5 * 2 + 4 * 4


def test_a_group_without_opponents_learns_from_all_its_rows() -> None:
    _, right = batch_of([Slot(("left",), slice(2, 6), None)], "right")
    assert right.mask is None
    _, left = batch_of([Slot(("left",), slice(2, 6), None)], "left")
    assert len(Batch.join([left, right]).counted()) == 4 * 2 * 2 + 4 * 6


def test_rows_are_the_same_as_without_slots_where_nobody_else_plays() -> None:
    _, alone = batch_of([], "right")
    _, among = batch_of([Slot(("right",), slice(4, 6), None)], "right")
    rows = torch.arange(4 * 6).view(4, 6)[:, :4].flatten()
    for name, column in among.counted().named_tensors():
        assert torch.equal(column, getattr(alone, name)[rows]), name


def test_returns_are_those_of_the_present_selves() -> None:
    """Clockwork pays 100 for choice 1, 200 for choice 2: opponents' returns would show."""
    world = World(Clockwork(), 4)
    slots = [Slot(("left",), slice(3, 4), same_logits(ALWAYS[2]))]  # type: ignore[arg-type]
    policies = dict.fromkeys(world.groups, same_logits(ALWAYS[0]))
    rollout = Recorded(world, policies, 4, graph_steps=0, slots=slots)  # type: ignore[arg-type]
    episodes = EpisodeStatistics(world, 4, slots)
    world.reset()
    rollout.collect()
    found = episodes.finished()
    clocks = 2 + 3 + 4 + 5  # the reset was the first
    assert found.count == 4
    assert found.played.tolist() == [3.0, 3.0, 4.0]
    assert found.returns.tolist() == [clocks, clocks + 40, clocks + 80]
    assert found.mean_return([slice(0, 2)]) == clocks + 20
    assert found.mean_return([slice(0, 3)]) == pytest.approx((3 * (2 * clocks + 40) + 4 * (clocks + 80)) / 10)


def test_a_group_that_opponents_play_everywhere_has_no_return() -> None:
    world = World(Clockwork(), 2)
    slots = [Slot(("left",), slice(0, 2), None)]
    rollout = Recorded(world, dict.fromkeys(world.groups), 4, graph_steps=0, slots=slots)
    episodes = EpisodeStatistics(world, 4, slots)
    world.reset()
    rollout.collect()
    found = episodes.finished()
    assert found.returns.isnan().tolist() == [True, True, False]
    assert found.mean_return([slice(0, 3)]) == found.returns[2].item()


# --- memory -----------------------------------------------------------------------------------------------------------


GRU = {"recurrent": "gru", "recurrent_size": 5, "hidden_sizes": (6,)}
OWN = {"type": "tests.policies.stateful_models:Recent", "width": 5}


def recurrent(seed: int, kind: dict[str, Any]) -> RecurrentPolicy:
    group = Group("left", 4, space(10), Still().groups()[0].action)
    model = ModelConfig(**kind)
    policy = build_policy(model, group, torch.Generator().manual_seed(seed))
    assert isinstance(policy, RecurrentPolicy)
    return policy


@pytest.mark.parametrize("kind", [GRU, OWN], ids=["gru", "own"])
def test_every_range_remembers_by_its_own_weights(kind: dict[str, Any]) -> None:
    """The states of a world with a slot are, range by range, those of worlds in which its player plays alone."""
    own, other = recurrent(1, kind), recurrent(2, kind)

    def states(policy: RecurrentPolicy, slots: Sequence[Slot]) -> tuple[Tensor, Tensor]:
        world = World(Still(), 6, seed=3)
        for player in (policy, *(slot.player for slot in slots)):
            player.to(world.device)  # type: ignore[union-attr]
        rollout = begun(Recorded(world, {"left": policy}, 5, graph_steps=0, slots=slots))
        world["observations"] = torch.linspace(-1, 1, 6 * 4 * 10).view(6, 4, 10)
        rollout.collect()
        memory = rollout.actors["left"].memory
        assert memory is not None
        return memory.state.cpu().clone(), world["rollout_log_probs_left"].cpu().clone()

    mixed, alone, others = states(own, [Slot(("left",), slice(2, 4), other)]), states(own, []), states(other, [])
    for found, of_own, of_other in zip(mixed, alone, others, strict=True):
        envs = 0 if found.dim() == 3 and found.shape[0] == 6 else 1
        for part, expected in ((slice(0, 2), of_own), (slice(2, 4), of_other), (slice(4, 6), of_own)):
            one, two = (torch.as_tensor(x).movedim(envs, 0)[part] for x in (found, expected))
            torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(alone[0], others[0])
