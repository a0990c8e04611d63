"""Who won the episodes in slots, against numbers computed by hand."""

from __future__ import annotations

import torch

from tests.trainers.small_worlds import Still
from warpworld.environment import Array
from warpworld.trainers.collecting.players import Slot
from warpworld.trainers.league.matches import Matches
from warpworld.world import World

STEPS = 6


def matches(masked: bool = False, slots: list[Slot] | None = None) -> tuple[World, Matches]:
    """A world of two agents left and one right, whose rollout rows a test writes itself."""
    world = World(Still(left=2, right=1, right_heads=(3,)), 5)
    for name, dtype, shape in (
        ("rewards", "float32", (STEPS, 5, 3)),
        ("terminated", "bool", (STEPS, 5)),
        ("truncated", "bool", (STEPS, 5)),
        *([("agent_mask", "bool", (STEPS, 5, 3))] if masked else []),
    ):
        world.add(Array(f"rollout_{name}", dtype, shape, per="world", initial=0), kept="derived")
    found = Matches(world, slots or [Slot(("right",), slice(1, 3)), Slot(("left",), slice(3, 5))])
    world.reset()
    return world, found


def test_wins_draws_and_losses() -> None:
    world, found = matches()
    rewards, ends = world["rollout_rewards"], world["rollout_terminated"]
    # env 1, slot 0: right is the opponent. Steps 0-1: left 3 and 0 (mean 1.5) against 1: won; 2-5: 0 against 0.1: lost
    rewards[0, 1] = torch.tensor([1.0, 0.0, 1.0])
    rewards[1, 1] = torch.tensor([2.0, 0.0, 0.0])
    rewards[4, 1] = torch.tensor([0.0, 0.0, 0.1])
    ends[1, 1] = ends[5, 1] = True
    # env 2, slot 0: drawn, 0.1 + 0.2 for each agent, in another order
    rewards[0, 2], rewards[1, 2] = torch.tensor([0.1, 0.2, 0.1]), torch.tensor([0.2, 0.1, 0.2])
    world["rollout_truncated"][3, 2] = True
    # env 3, slot 1: left are the opponents: 1 for right against a mean of 0.5
    rewards[0, 3] = torch.tensor([1.0, 0.0, 1.0])
    ends[0, 3] = True
    # env 0 is in no slot
    rewards[:, 0] = 9.0
    ends[:, 0] = True
    assert found.results().tolist() == [[1.0 + 0.0 + 0.5, 3.0, 0.0], [1.0, 1.0, 0.0]]


def test_an_episode_goes_on_in_the_next_rollout() -> None:
    world, found = matches()
    world["rollout_rewards"][5, 1] = torch.tensor([0.0, 0.0, 4.0])
    assert found.results().tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert world["match_balance"].tolist() == [0.0, -8.0, 0.0, 0.0, 0.0]  # the opponent's 4 count twice, for two agents
    world["rollout_rewards"].zero_()
    world["rollout_rewards"][0, 1] = torch.tensor([3.0, 3.0, 0.0])  # a mean of 3 is not enough
    world["rollout_terminated"][0, 1] = True
    world["rollout_rewards"][1, 1] = torch.tensor([1.0, 0.0, 0.0])  # but the next episode begins at 0
    world["rollout_terminated"][1, 1] = True
    assert found.results().tolist() == [[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
    assert world["match_balance"].tolist() == [0.0] * 5


def test_what_was_begun_against_another_counts_for_nobody() -> None:
    slots = [Slot(("right",), slice(1, 3)), Slot(("left",), slice(3, 5))]
    world, found = matches(slots=slots)
    world["timestep"][:] = torch.tensor([4, 4, 0, 4, 4])  # env 2 has just begun
    found.exchange(slots[0])
    world["rollout_rewards"][:, :, 0] = 1.0
    world["rollout_terminated"][2:4] = True
    # env 1: only the second end counts, and the first is left out; env 2: both count; the other slot's: all
    assert found.results().tolist() == [[3.0, 3.0, 1.0], [0.0, 4.0, 0.0]]
    world["rollout_terminated"].zero_()
    world["rollout_terminated"][0] = True
    assert found.results().tolist() == [[2.0, 2.0, 0.0], [0.0, 2.0, 0.0]]


def test_rows_that_do_not_count_bring_nothing() -> None:
    world, found = matches(masked=True)
    world["rollout_agent_mask"].fill_(True)
    world["rollout_rewards"][0, 1] = torch.tensor([100.0, 0.0, 1.0])
    world["rollout_agent_mask"][0, 1, 0] = False
    world["rollout_terminated"][0, 1] = True
    assert found.results()[0].tolist() == [0.0, 1.0, 0.0]


def test_against_a_loop_over_steps() -> None:
    generator = torch.Generator().manual_seed(7)
    world, found = matches()
    balance, whole, left_out = [0.0] * 5, [True] * 5, 0.0
    for rollout in range(20):
        if rollout % 3 == 2:
            world["timestep"].copy_(torch.randint(0, 2, (5,), generator=generator))
            found.exchange(found._slots[1])
            whole[3:] = (world["timestep"][3:] == 0).tolist()
        world["rollout_rewards"].copy_(torch.randint(-2, 3, (STEPS, 5, 3), generator=generator))
        world["rollout_terminated"].copy_(torch.rand(STEPS, 5, generator=generator) < 0.3)
        world["rollout_truncated"].copy_(torch.rand(STEPS, 5, generator=generator) < 0.2)
        expected = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        for t in range(STEPS):
            for env in range(1, 5):
                left, right = world["rollout_rewards"][t, env, :2].mean().item(), world["rollout_rewards"][t, env, 2]
                balance[env] += (left - right.item()) * (1 if env < 3 else -1)
                if world["rollout_terminated"][t, env] or world["rollout_truncated"][t, env]:
                    won = 0.5 if balance[env] == 0 else float(balance[env] > 0)
                    slot = expected[0 if env < 3 else 1]
                    slot[0], slot[1], slot[2] = (
                        slot[0] + won * whole[env],
                        slot[1] + whole[env],
                        slot[2] + (not whole[env]),
                    )
                    balance[env], whole[env] = 0.0, True
        assert found.results().tolist() == expected
        left_out += expected[1][2]
    assert left_out > 0
