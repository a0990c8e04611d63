"""The sampling kernel, and the actor that feeds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor

from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import FixedPolicy, Relay, Still, same_logits, seen_as_logits, space
from warpworld.environment import Environment, Group
from warpworld.errors import DeclarationError, StoreError
from warpworld.policies.distributions.distribution import log_prob
from warpworld.trainers.collecting.actor import Actor
from warpworld.world import World
from warpworld.world.random import philox

SAMPLER_INDEX = 15  # of a world's first actor among its kernels
INF = float("inf")


def one_actor(
    heads: Sequence[int], logits: Any, kernel: str = "act", num_envs: int = 1024, **world: Any
) -> tuple[World, Actor]:
    """A reset world of one group of four, whose policy gives every agent the same logits."""
    made = World(Still(left_heads=tuple(heads)), num_envs, **world)
    actor = Actor(made, "left", None if logits is None else same_logits(logits), kernel)
    made.reset()
    return made, actor


def draws(world: World, actor: Actor, rounds: int) -> Tensor:
    """(rounds * num_envs * agents, heads) actions, with fresh random numbers in every round."""
    taken = []
    for _ in range(rounds):
        actor.act()
        taken.append(world["actions"].flatten(0, 1).clone())
        world.step()
    return torch.cat(taken).long().cpu()


def chi_square(counts: Tensor, probabilities: Tensor) -> tuple[float, float]:
    """Pearson's statistic over the cells that expect 5 or more, and the limit that it exceeds once in 10 million."""
    expected = counts.sum() * probabilities
    usual = expected >= 5
    statistic = (((counts - expected) ** 2 / expected)[usual]).sum().item()
    freedom = max(int(usual.sum()) - 1, 1)
    spread = 2 / (9 * freedom)  # Wilson and Hilferty (1931)
    return statistic, freedom * (1 - spread + 5.2 * math.sqrt(spread)) ** 3


LOGITS = {
    "uniform": [0.0] * 5,
    "spread": [-2.0, -1.0, 0.0, 1.0, 2.0],
    "rare first": [-9.0, 0.0, 0.5, 0.0, 0.0],
    "rare last": [0.0, 0.0, 0.5, 0.0, -9.0],
    "large": [10000.0, 10001.0, 9999.0, 10000.0, 10000.0],
    "very large": [3e38, 3e38, -3e38, 3e38, 0.0],
    "very negative": [-1e8, -1e8 + 8, -1e8, -1e9, -1e8 + 8],
    "forbidden": [-1e8, 0.3, -1e8, 0.0, -1e8],
    "impossible": [-INF, 0.3, -INF, 0.0, -INF],
    "certain": [-200.0, 0.0, -200.0, -200.0, -200.0],
    "single": [7.0],
    "many": [math.sin(i) for i in range(40)],
}


@pytest.mark.parametrize("name", LOGITS)
def test_frequencies_are_the_softmax(name: str) -> None:
    logits = torch.tensor(LOGITS[name])
    probabilities = torch.softmax(logits.double(), 0)
    counts = draws(*one_actor([len(logits)], logits), rounds=50).flatten().bincount(minlength=len(logits))
    assert counts.sum() == 50 * 4096
    assert counts[probabilities < 1e-30].sum() == 0
    statistic, limit = chi_square(counts, probabilities)
    assert statistic < limit


@pytest.mark.parametrize("never", [-1e8, -INF, -1000.0, -104.0])
def test_what_has_no_probability_is_never_chosen(never: float) -> None:
    world, actor = one_actor([5], [never, 0.0, never, -3.0, never], num_envs=16384)
    counts = draws(world, actor, rounds=30).flatten().bincount(minlength=5)
    assert counts.sum() == 30 * 65536
    assert counts[[0, 2, 4]].sum() == 0
    assert counts[[1, 3]].min() > 0


@pytest.mark.parametrize(
    ("clock", "extreme"),
    [(4095396, lambda word: word < 256), (12368866, lambda word: word >= 2**32 - 256)],
    ids=["lowest", "highest"],
)
def test_the_outermost_random_numbers(clock: int, extreme: Any) -> None:
    zero = torch.zeros(1, dtype=torch.int64)
    assert extreme(philox((zero + (SAMPLER_INDEX << 28), zero, zero + clock, zero), 0)[0].item())  # else find another
    # an action of probability e^-80 stands where that number falls, with and without one of probability 0 beside it
    for first, second in ((-80.0, -80.0), (-80.0, -1e8), (-1e8, -80.0), (-1e8, -1e8)):
        world, actor = one_actor([5], [first, second, 0.0, second, first], num_envs=1)
        world["clock"] = torch.tensor([clock], dtype=torch.int64).view(torch.uint64)
        actor.act()
        assert world["actions"][0, 0, 0].item() == 2


@pytest.mark.parametrize("size", [1, 5, 40])
def test_draws_follow_philox(size: int) -> None:
    world, actor = one_actor([size], None, num_envs=64, seed=2**40 + 5, first_env=7)
    for _ in range(3):
        clock = world["clock"].view(torch.int64)[:, None].expand(64, 4)
        env, agent = (torch.arange(64) + 7)[:, None].expand(64, 4), torch.arange(4).expand(64, 4)
        words = philox((torch.full((64, 4), SAMPLER_INDEX << 28), env, clock.cpu(), agent), 2**40 + 5)[0]
        actor.act()
        expected = (((words >> 9) * 2 + 1) * size) >> 24  # equal weights: exact in whole numbers
        assert torch.equal(world["actions"][..., 0].long().cpu(), expected)
        world.step()


def test_log_probabilities_are_those_of_the_distribution() -> None:
    generator = torch.Generator().manual_seed(0)
    for heads in ((3, 5, 1), (4, 4), (5,)):
        world = World(Still(left_heads=heads), 50)
        rollout = Recorded(world, {"left": seen_as_logits(sum(heads))}, 4)
        world.reset()
        for scale in (0.1, 3.0, 50.0):
            world["observations"] = scale * torch.randn(50, 4, 10, generator=generator)
            logits = world["observations"][..., : sum(heads)]
            rollout.collect()
            actions = world["rollout_actions_left"]
            expected = log_prob(logits.double().expand(4, -1, -1, -1), actions, heads)
            recorded = world["rollout_log_probs_left"]
            torch.testing.assert_close(recorded.double(), expected, rtol=2e-6, atol=2e-6)
            in_torch = log_prob(logits.expand(4, -1, -1, -1), actions, heads)
            torch.testing.assert_close(recorded, in_torch, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("logits", [LOGITS["large"], LOGITS["forbidden"], LOGITS["impossible"], LOGITS["very large"]])
def test_log_probabilities_of_extreme_logits(logits: list[float]) -> None:
    world = World(Still(left_heads=(len(logits),)), 200)
    rollout = Recorded(world, {"left": same_logits(logits)}, 2)
    world.reset()
    rollout.collect()
    given = torch.tensor(logits, device=world.device).expand(2, 200, 4, -1)
    expected = log_prob(given, world["rollout_actions_left"], [len(logits)])
    torch.testing.assert_close(world["rollout_log_probs_left"], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("heads", [(3, 4), (4, 4)])
def test_heads_are_independent(heads: tuple[int, int]) -> None:
    logits = torch.tensor([0.0, 1.0, -1.0, 0.5, 0.0, -0.5, 1.0, 0.2])[: sum(heads)]
    taken = draws(*one_actor(heads, logits), rounds=50)
    first, second = (torch.softmax(part.double(), 0) for part in logits.split(list(heads)))
    counts = (taken[:, 0] * heads[1] + taken[:, 1]).bincount(minlength=heads[0] * heads[1])
    statistic, limit = chi_square(counts, torch.outer(first, second).flatten())
    assert statistic < limit


def test_agents_envs_and_steps_draw_for_themselves() -> None:
    world, actor = one_actor([5], None, num_envs=4096)
    taken = draws(world, actor, rounds=6).view(6, 4096, 4)
    for one, other in ((taken[1:], taken[:-1]), (taken[:, 1:], taken[:, :-1]), (taken[..., 1:], taken[..., :-1])):
        counts = (5 * one + other).flatten().bincount(minlength=25)
        statistic, limit = chi_square(counts, torch.full((25,), 0.04))
        assert statistic < limit


@pytest.mark.parametrize(
    ("heads", "logits", "expected"),
    [
        ((5,), [0.0, 2.0, 2.0, 1.0, 2.0], [1]),
        ((5,), [5.0] * 5, [0]),
        ((5,), [-INF, -INF, -1e8, -INF, -2e8], [2]),
        ((3, 4), [1.0, 1.5, 1.5, 0.0, 0.0, -1.0, 0.0], [1, 0]),
        ((4, 4), [0.0, -1.0, 0.0, 0.0, -1.0, -2.0, -1.5, 0.0], [0, 3]),
    ],
)
def test_greedy_takes_the_first_of_the_likeliest(heads: Any, logits: list[float], expected: list[int]) -> None:
    world, actor = one_actor(heads, logits, "act_greedily", num_envs=5)
    actor.act()
    assert world["actions"].tolist() == [[expected] * 4] * 5


@pytest.mark.parametrize("kernel", ["act", "act_greedily"])
def test_logits_that_are_no_numbers_still_give_an_action(kernel: str) -> None:
    nan = float("nan")
    for logits in ([nan] * 5, [0.0, 0.0, nan, 0.0, 0.0], [nan, 0, 0, 0, 0], [0, 0, 0, INF, INF], [-INF] * 5):
        taken = draws(*one_actor([5], logits, kernel, num_envs=64), rounds=2)
        assert (taken >= 0).all()
        assert (taken < 5).all()


def test_an_envs_actions_do_not_depend_on_its_neighbours_or_the_workers() -> None:
    heads, logits = (3, 4), [0.0, 0.5, -1.0, 0.3, 0.2, 0.0, 1.0]
    few = draws(*one_actor(heads, logits, num_envs=8, seed=3), rounds=5).view(5, 8, 4, 2)
    many = [
        draws(*one_actor(heads, logits, num_envs=3000, seed=3, num_workers=workers), rounds=5).view(5, 3000, 4, 2)
        for workers in (1, 2, 3)
    ]
    assert torch.equal(many[0][:, :8], few)
    assert torch.equal(many[1], many[0])
    assert torch.equal(many[2], many[0])
    later = draws(*one_actor(heads, logits, num_envs=4, seed=3, first_env=4), rounds=5).view(5, 4, 4, 2)
    assert torch.equal(later, few[:, 4:])
    other_seed = draws(*one_actor(heads, logits, num_envs=8, seed=4), rounds=5).view(5, 8, 4, 2)
    assert not torch.equal(other_seed, few)


def two_groups(left_heads: tuple[int, ...], right_heads: tuple[int, ...], features: tuple[int, int]) -> Still:
    return Still(
        left=2,
        left_heads=left_heads,
        left_features=features[0],
        right=3,
        right_heads=right_heads,
        right_features=features[1],
    )


LAYOUTS = {
    "all shared": two_groups((5,), (5,), (4, 4)),
    "other heads": two_groups((2, 3), (4,), (4, 4)),
    "other observations": two_groups((4,), (4,), (4, 6)),
    "all different": two_groups((2, 3), (4,), (3, 7)),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_rows_hold_what_was_seen_and_done(name: str) -> None:
    num_envs, num_steps = 33, 5
    world = World(LAYOUTS[name], num_envs)
    policies = {group: seen_as_logits(int(placed.action.nvec.sum())) for group, placed in world.groups.items()}
    rollout = Recorded(world, policies, num_steps)
    world.reset()
    generator = torch.Generator().manual_seed(1)
    seen, done = [], []
    for t in range(num_steps):  # what collect() does, with something to see
        world["rollout_row"] = t
        for array in [array for array in world.data if array.startswith("observations")]:
            world[array] = torch.randn(world[array].shape, generator=generator)
        for actor in rollout.actors.values():
            actor.act()
        seen.append({group: world.observations(group).clone() for group in world.groups})
        done.append({group: actions_of(world, group).clone() for group in world.groups})
        world.step()
    for group, placed in world.groups.items():
        rows = rollout.trajectories(group)
        observations, actions = (torch.stack([step[group] for step in steps]) for steps in (seen, done))
        assert torch.equal(rows.observations, observations)
        assert torch.equal(rows.actions, actions)
        expected = log_prob(policies[group].outputs(observations), actions, placed.action.nvec.tolist())
        torch.testing.assert_close(rows.log_probs, expected, rtol=1e-6, atol=1e-6)
        assert actions.unique().numel() > 1


def actions_of(world: World, group: str) -> Tensor:
    """(num_envs, size, heads): a group's actions, found by the names of the arrays alone."""
    own = f"actions_{group}"
    return world[own] if own in world.data else world["actions"][:, world.groups[group].slice]


def test_groups_of_a_kernels_env_draw_different_numbers() -> None:
    world = World(Relay(left=2, right=2), 4096)
    actors = [Actor(world, group) for group in world.groups]
    world.reset()
    for actor in actors:
        actor.act()
    left, right = (world[name][..., 0].long().cpu() for name in ("actions_left", "actions_right"))
    counts = (left * 3 + right).flatten().bincount(minlength=12)
    statistic, limit = chi_square(counts, torch.full((12,), 1 / 12))
    assert statistic < limit


def test_only_the_groups_own_actions_are_written() -> None:
    world = World(LAYOUTS["all shared"], 6)
    actor = Actor(world, "right", same_logits([0.0, 0.0, 50.0, 0.0, 0.0]))
    world.reset()
    world["actions"] = 4
    actor.act()
    assert world["actions"][..., 0].tolist() == [[4, 4, 2, 2, 2]] * 6


def test_a_policy_may_be_exchanged() -> None:
    world, actor = one_actor([5], [-1e8, 0.0, -1e8, -1e8, -1e8])
    assert draws(world, actor, 1).unique().tolist() == [1]
    actor.policy = same_logits([-1e8, -1e8, -1e8, 0.0, -1e8])
    assert draws(world, actor, 1).unique().tolist() == [3]
    actor.policy = None  # at random
    counts = draws(world, actor, 10).flatten().bincount(minlength=5)
    statistic, limit = chi_square(counts, torch.full((5,), 0.2))
    assert statistic < limit


def test_no_gradient_is_kept() -> None:
    world, actor = one_actor([5], None)
    weight = torch.ones(5, requires_grad=True, device=world.device)
    actor.policy = FixedPolicy(lambda seen: seen[..., :5] * weight)
    actor.act()
    assert not world["policy_outputs_left"].requires_grad


class Odd(Environment):
    """A group that no policy serves."""

    observation: Any = space(2)
    action: Any = Discrete(2)

    def groups(self) -> Sequence[Group]:
        return [Group("left", 1, self.observation, self.action)]

    def phases(self) -> Sequence[Any]:
        return []

    def resets(self) -> Sequence[Any]:
        return []


def test_spaces_that_no_policy_serves_are_refused() -> None:
    curled = type("Curled", (Odd,), {"action": Box(0, 3, (2,), np.int32)})
    with pytest.raises(DeclarationError, match="MultiBinary or a Box of float32, of at least one number"):
        Actor(World(curled(), 2), "left")


def test_acting_before_the_reset_is_refused() -> None:
    actor = Actor(World(Still(), 2), "left")
    with pytest.raises(StoreError, match=r"group 'left': call the world's reset\(\) before the actor acts"):
        actor.act()
