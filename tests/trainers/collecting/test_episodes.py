"""Returns and lengths of finished episodes."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import Clockwork, Relay, Still, same_logits
from warpworld.environment import Array, Environment, action_heads
from warpworld.errors import StoreError
from warpworld.trainers.collecting.episodes import EpisodeStatistics
from warpworld.world import World

NAN = float("nan")
NUM_STEPS = 7


def statistics(num_envs: int, masked: bool = False) -> tuple[World, EpisodeStatistics]:
    """A world of 4 agents whose rollout rows a test writes itself."""
    world = World(Still(), num_envs)
    for name, dtype, shape in (
        ("rewards", "float32", (NUM_STEPS, num_envs, 4)),
        ("terminated", "bool", (NUM_STEPS, num_envs)),
        ("truncated", "bool", (NUM_STEPS, num_envs)),
        *([("agent_mask", "bool", (NUM_STEPS, num_envs, 4))] if masked else []),
    ):
        world.add(Array(f"rollout_{name}", dtype, shape, per="world", initial=0), kept="derived")
    episodes = EpisodeStatistics(world, NUM_STEPS)
    world.reset()
    return world, episodes


def test_by_hand() -> None:
    world, episodes = statistics(2)
    world["rollout_rewards"][:, 0] = torch.tensor([1.0, 10.0, 100.0, 0.5])
    world["rollout_rewards"][:, 1] = torch.arange(7.0)[:, None] * torch.tensor([1.0, 0.0, 2.0, -1.0])
    world["rollout_terminated"][2, 0] = True  # three steps of env 0; four are left over
    world["rollout_truncated"][4, 1] = True  # five steps of env 1: 0 + 1 + 2 + 3 + 4
    first = episodes.finished()
    assert (first.count, first.length) == (2, 4.0)
    assert first.returns.dtype == torch.float64
    assert first.returns.tolist() == [(3 + 10) / 2, 30 / 2, (300 + 20) / 2, (1.5 - 10) / 2]
    # the next rollout: what was left over counts
    world["rollout_terminated"].zero_()
    world["rollout_truncated"].zero_()
    world["rollout_rewards"].zero_()
    world["rollout_terminated"][0] = world["rollout_truncated"][0] = True  # both at once are one end
    second = episodes.finished()
    assert (second.count, second.length) == (2, (5 + 3) / 2)
    assert second.returns.tolist() == [(4 + 11) / 2, 40 / 2, (400 + 22) / 2, (2 - 11) / 2]


def test_no_end_is_no_number() -> None:
    _, episodes = statistics(3)
    finished = episodes.finished()
    assert finished.count == 0
    assert math.isnan(finished.length)
    assert finished.returns.isnan().all()
    assert finished.returns.shape == (4,)


def test_rows_that_do_not_count() -> None:
    world, episodes = statistics(1, masked=True)
    world["rollout_agent_mask"] = True
    world["rollout_agent_mask"][2:, 0, 1] = False
    world["rollout_rewards"] = 1.0
    world["rollout_rewards"][2:, 0, 1] = NAN
    world["rollout_truncated"][6] = True
    finished = episodes.finished()
    assert finished.returns.tolist() == [7.0, 2.0, 7.0, 7.0]
    assert finished.length == 7.0


def slow(rewards: Tensor, ended: Tensor, mask: Tensor) -> tuple[int, list[float], float]:
    """Episode by episode over all rows of all rollouts."""
    episodes: list[tuple[list[float], int]] = []
    for env in range(rewards.shape[1]):
        start = 0
        for t in range(len(rewards)):
            if ended[t, env]:
                rows, counts = rewards[start : t + 1, env].double(), mask[start : t + 1, env]
                episodes.append((torch.where(counts, rows, 0.0).sum(0).tolist(), t + 1 - start))
                start = t + 1
    count = len(episodes)
    returns = [sum(episode[0][agent] for episode in episodes) / count for agent in range(4)]
    return count, returns, sum(episode[1] for episode in episodes) / count


@pytest.mark.parametrize("masked", [False, True])
def test_against_the_slow_reference(masked: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    world, episodes = statistics(40, masked)
    rewards = torch.randn(5 * NUM_STEPS, 40, 4, generator=generator)
    terminated = torch.rand(5 * NUM_STEPS, 40, generator=generator) < 0.1
    truncated = torch.rand(5 * NUM_STEPS, 40, generator=generator) < 0.1
    mask = (
        torch.rand(rewards.shape, generator=generator) < 0.7 if masked else torch.ones_like(rewards, dtype=torch.bool)
    )
    count, returns, length = 0, torch.zeros(4, dtype=torch.float64), 0.0
    for rows in torch.arange(5 * NUM_STEPS).split(NUM_STEPS):
        world["rollout_rewards"], world["rollout_terminated"] = rewards[rows], terminated[rows]
        world["rollout_truncated"] = truncated[rows]
        if masked:
            world["rollout_agent_mask"] = mask[rows]
        finished = episodes.finished()
        count += finished.count
        returns += finished.returns.cpu() * finished.count
        length += finished.length * finished.count
    expected_count, expected_returns, expected_length = slow(rewards, terminated | truncated, mask)
    assert count == expected_count
    assert (returns / count).tolist() == pytest.approx(expected_returns, rel=1e-5, abs=1e-5)
    assert length / count == pytest.approx(expected_length)


def rollout_of(environment: Environment, num_steps: int) -> tuple[Recorded, EpisodeStatistics]:
    """A rollout of 3 envs in which everybody takes action 0 of each head."""
    world = World(environment, 3)
    policies = {}
    for name, group in world.groups.items():
        heads = action_heads(group.action)
        policies[name] = same_logits([logit for size in heads for logit in (0.0, *[-1e8] * (size - 1))])
    rollout = Recorded(world, policies, num_steps)
    episodes = EpisodeStatistics(world, num_steps)
    world.reset()
    return rollout, episodes


def test_of_a_rollout() -> None:
    rollout, episodes = rollout_of(Clockwork(episode_length=3), 4)
    rollout.collect()
    finished = episodes.finished()  # clocks 2 3 4; agents add 10 and 20 each step
    assert (finished.count, finished.length) == (3, 3.0)
    assert finished.returns.tolist() == [9.0, 39.0, 69.0]
    rollout.collect()
    assert episodes.finished().returns.tolist() == [21.0, 51.0, 81.0]  # clocks 6 7 8: the reset was one


def test_agents_that_have_left_get_nothing_more() -> None:
    rollout, episodes = rollout_of(Relay(leave_at=2, episode_length=6), 6)
    rollout.collect()
    finished = episodes.finished()
    # left: timesteps 1+2, then 1+2+3 and 10 each, 1+2+3+4 and 20 each; right: all six
    assert finished.returns.tolist() == [3.0, 6.0 + 30.0, 10.0 + 80.0, 21.0 + 180.0, 21.0 + 240.0]
    assert finished.length == 6.0


def test_a_running_episode_is_part_of_the_worlds_snapshot() -> None:
    world, episodes = statistics(2)
    world["rollout_rewards"] = 1.0
    episodes.finished()
    saved = world.snapshot()
    other, restored = statistics(2)
    other.restore(saved)
    other["rollout_terminated"][0] = True
    finished = restored.finished()
    assert (finished.count, finished.length) == (2, 8.0)
    assert finished.returns.tolist() == [7.0] * 4


@pytest.mark.cpu_backend
def test_workers_do_not_matter() -> None:
    results = []
    for workers in (1, 2):
        world = World(Clockwork(), 500, num_workers=workers)
        rollout = Recorded(world, {"left": None, "right": None}, 16)
        episodes = EpisodeStatistics(world, 16)
        world.reset()
        rollout.collect()
        results.append(episodes.finished())
    assert torch.equal(results[0].returns, results[1].returns)
    assert results[0].count == results[1].count == 2000


def test_before_the_reset_is_refused() -> None:
    world = World(Clockwork(), 2)
    Recorded(world, {"left": None, "right": None}, 3)
    episodes = EpisodeStatistics(world, 3)
    with pytest.raises(StoreError, match=r"no episodes to add up yet; call the world's reset\(\) first"):
        episodes.finished()
