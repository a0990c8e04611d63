"""Rollouts: what is recorded, and what a learner gets of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainers.collecting.seen_in_kinds import SeenAs
from tests.trainers.recorded import Recorded
from tests.trainers.small_worlds import Clockwork, FixedPolicy, Relay, same_logits, seen_by_all
from warpworld.config import ModelConfig
from warpworld.environment import Array, Environment
from warpworld.errors import DeclarationError
from warpworld.policies import build_policy
from warpworld.trainers.algorithms.experience.batch import Batch
from warpworld.trainers.algorithms.experience.trajectory_rows import VALUE_ROWS, values_of
from warpworld.trainers.algorithms.targets.gae import gae
from warpworld.trainers.collecting.trajectories import Trajectories
from warpworld.world import World

GAMMA, LAMBDA = 0.9, 0.8


def told(observations: Tensor) -> Tensor:
    """A value that tells every timestep, env and agent apart."""
    return 7.0 * observations[..., 0] + 0.5 * observations[..., 1] + 0.25 * observations[..., 2] + 1.0


POLICY = FixedPolicy(lambda seen: torch.zeros(*seen.shape[:-1], 3), told)


def ready(environment: Environment, num_envs: int, num_steps: int, **policies: Any) -> Recorded:
    """A rollout of a reset world; groups that no policy is given for act at random."""
    world = World(environment, num_envs)
    rollout = Recorded(world, {group: policies.get(group) for group in world.groups}, num_steps)
    world.reset()
    return rollout


class ExpectedSteps:
    """What Clockwork's envs do, told in plain Python: row by row from where they stand."""

    def __init__(self, environment: Clockwork, num_envs: int) -> None:
        self.params = environment.params
        self.timestep = [0] * num_envs
        self.clock = [1] * num_envs  # the first reset was one

    def step(self, env: int) -> tuple[int, bool, bool]:
        """The timestep of the step, and whether the env terminated, or was truncated without that."""
        now = self.timestep[env] + 1
        self.clock[env] += 1 + (now == 1 and self.clock[env] > 1)  # a later reset is one too
        terminated = now == self.params.ends[env % len(self.params.ends)]
        truncated = now >= self.params.episode_length
        self.timestep[env] = 0 if terminated or truncated else now
        return now, terminated, truncated and not terminated


def check_rows(trajectory: ExpectedSteps, rows: Trajectories, first_agent: int) -> dict[tuple[int, int], int]:
    """Compare every row of a group with what the env should have done; returns the truncations' last timesteps."""
    truncations = {}
    num_steps, num_envs, size = rows.rewards.shape
    for t in range(num_steps):
        timestep = torch.tensor(trajectory.timestep, dtype=torch.int32, device=rows.rewards.device)
        seen = seen_by_all(timestep, 3)[:, first_agent : first_agent + size]
        assert torch.equal(rows.observations[t], seen)
        for env in range(num_envs):
            now, terminated, truncated = trajectory.step(env)
            assert (rows.terminated[t, env].item(), rows.truncated[t, env].item()) == (terminated, truncated)
            for agent in range(size):
                reward = (
                    trajectory.clock[env] + 10 * (first_agent + agent) + 100 * rows.actions[t, env, agent, 0].item()
                )
                assert rows.rewards[t, env, agent].item() == reward
            if truncated:
                truncations[t, env] = now
    return truncations


@pytest.mark.parametrize("group", ["left", "right"])
def test_rewards_and_ends_are_recorded_row_by_row(group: str) -> None:
    environment = Clockwork(episode_length=4, ends=(0, 3, 4, 1))
    rollout = ready(environment, 6, 9)
    first = rollout.world.groups[group].first
    trajectory = ExpectedSteps(environment, 6)
    for _ in range(3):  # a rollout goes on where the last one ended
        rollout.collect()
        rows = rollout.trajectories(group)
        check_rows(trajectory, rows, first)
        assert (rows.agent_terminated, rows.mask) == (None, None)
        assert rows.log_probs.exp().allclose(torch.tensor(1 / 3))


def test_both_ends_at_once_are_a_termination() -> None:
    rollout = ready(Clockwork(episode_length=3, ends=(3,)), 2, 6)
    rollout.collect()
    assert rollout.world["rollout_truncated"].sum() == 4  # the env says both
    rows = rollout.trajectories("left")
    assert rows.terminated.sum() == 4
    assert not rows.truncated.any()
    batch = rollout.batch("left", POLICY, GAMMA, LAMBDA)
    last = torch.tensor([False, False, True] * 2)
    assert torch.equal(batch.returns.view(6, 2, 2)[last], rows.rewards[last])


def slow_advantages(rows: Trajectories, truncations: Mapping[tuple[int, int], int], next_seen: Tensor) -> Tensor:
    """Generalised advantages, each as the sum of its trajectory's TD errors; values by ``told``."""
    num_steps, num_envs, size = rows.rewards.shape
    advantages = torch.zeros(num_steps, num_envs, size, dtype=torch.float64)
    for env in range(num_envs):
        for agent in range(size):
            for start in range(num_steps):
                weight, total = 1.0, 0.0
                for t in range(start, num_steps):
                    seen = rows.observations[t, env, agent].double().cpu()
                    if rows.terminated[t, env]:
                        after = 0.0
                    elif (t, env) in truncations:  # the true final observation: the same, but for the timestep
                        after = told(torch.stack([torch.tensor(truncations[t, env]).double(), seen[1], seen[2]])).item()
                    elif t + 1 < num_steps:
                        after = told(rows.observations[t + 1, env, agent].double()).item()
                    else:
                        after = told(next_seen[env, agent].double()).item()
                    reward = rows.rewards[t, env, agent].double().item()
                    total += weight * (reward + GAMMA * after - told(seen).item())
                    weight *= GAMMA * LAMBDA
                    if rows.terminated[t, env] or (t, env) in truncations:
                        break
                advantages[start, env, agent] = total
    return advantages.to(rows.rewards.device)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 40])
@pytest.mark.parametrize("group", ["left", "right"])
def test_a_batch_is_gae_with_the_true_final_observations(group: str, length: int) -> None:
    environment = Clockwork(episode_length=length, ends=(0, 2, 0, 4))
    rollout = ready(environment, 4, 11)
    first = rollout.world.groups[group].first
    trajectory = ExpectedSteps(environment, 4)
    for _ in range(2):
        rollout.collect()
        rows = rollout.trajectories(group)
        truncations = check_rows(trajectory, rows, first)
        assert length > 11 or max(sum(env == e for _, env in truncations) for e in range(4)) >= 2  # several of one env
        batch = rollout.batch(group, POLICY, GAMMA, LAMBDA)
        expected = slow_advantages(rows, truncations, rollout.world.observations(group))
        torch.testing.assert_close(batch.advantages.view_as(expected).double(), expected, rtol=1e-5, atol=1e-3)
        torch.testing.assert_close(batch.returns, batch.advantages + batch.values)
        assert torch.equal(batch.values.view_as(rows.rewards), told(rows.observations))


def test_advantages_by_hand() -> None:
    # env 0 of two steps an episode, rewards 2 3 | 5 6: the clock begins at 2, and a reset is one; V = 7 * timestep + 1;
    # action 0 always
    rollout = ready(Clockwork(episode_length=2), 1, 3, left=same_logits([0.0, -1e8, -1e8]))
    rollout.collect()
    batch = rollout.batch("left", POLICY, 0.5, 0.5)
    # agent 0: V(0) = 1, V(1) = 8, V(final 2) = 15; the third row goes on to V(1) = 8
    deltas = [2 + 0.5 * 8 - 1, 3 + 0.5 * 15 - 8, 5 + 0.5 * 8 - 1]
    assert batch.advantages.view(3, 2)[:, 0].tolist() == [deltas[0] + 0.25 * deltas[1], deltas[1], deltas[2]]
    assert batch.returns.view(3, 2)[:, 0].tolist() == [5.0 + 0.25 * 2.5 + 1, 2.5 + 8, 8.0 + 1]


def test_a_batchs_rows_are_the_rollouts() -> None:
    rollout = ready(Clockwork(), 5, 4)
    rollout.collect()
    batch, rows = rollout.batch("left", POLICY, GAMMA, LAMBDA), rollout.trajectories("left")
    assert len(batch) == 4 * 5 * 2
    assert torch.equal(batch.observations.view(4, 5, 2, 3), rows.observations)
    assert torch.equal(batch.actions.view(4, 5, 2, 1), rows.actions)
    assert torch.equal(batch.log_probs.view(4, 5, 2), rows.log_probs)
    assert batch.mask is None


def test_more_truncations_than_were_said_to_be_possible_are_refused() -> None:
    rollout = ready(Clockwork(episode_length=2, most_truncations=2), 3, 6)
    rollout.collect()
    with pytest.raises(DeclarationError, match=r"truncated more often in 6 steps than the 2 times .* truncations\(\)"):
        rollout.batch("left", POLICY, GAMMA, LAMBDA)
    enough = ready(Clockwork(episode_length=2, most_truncations=3), 3, 6)
    enough.collect()
    enough.batch("left", POLICY, GAMMA, LAMBDA)


def test_a_step_outside_a_rollout_stays_within_the_rows() -> None:
    rollout = ready(Clockwork(episode_length=2), 3, 4)
    rollout.world["kept_observations"] = 0.0
    rollout.collect()
    recorded = [name for name in rollout.world.data if name.startswith("rollout_") and name != "rollout_row"]
    before = {name: rollout.world[name].clone() for name in recorded}
    for _ in range(20):
        rollout.world.step()
    for name, rows in before.items():
        assert torch.equal(rollout.world[name][1:], rows[1:])
    rollout.collect()
    assert len(rollout.batch("left", POLICY, GAMMA, LAMBDA)) == 24


# --- agents that leave, groups with layouts of their own --------------------------------------------------------------


def test_rows_of_agents_that_have_left_are_masked() -> None:
    rollout = ready(Relay(leave_at=2, episode_length=6), 3, 14)
    for start in (0, 14):
        rollout.collect()
        rows = rollout.trajectories("left")
        assert rows.mask is not None
        assert rows.agent_terminated is not None
        for t in range(14):
            now = (start + t) % 6 + 1
            for agent in range(3):
                assert (rows.mask[t, :, agent] == (now <= 2 + agent)).all()
                assert (rows.agent_terminated[t, :, agent] == (now == 2 + agent)).all()
                reward = now + 10 * agent + 100 * rows.actions[t, :, agent, 0]
                assert torch.equal(rows.rewards[t, :, agent], reward.float() if now <= 2 + agent else reward * 0 + 1e6)
        right = rollout.trajectories("right")
        assert right.mask is not None
        assert right.mask.all()
        assert not right.agent_terminated.any()


def test_rewards_that_do_not_count_reach_nobody() -> None:
    world = World(Relay(left=3, leave_at=0), 4)
    rollout = Recorded(world, dict.fromkeys(world.groups), 6)
    world.reset()
    rollout.collect()
    policy = FixedPolicy(lambda seen: seen, lambda seen: 0 * seen.sum(-1))
    world["rollout_agent_mask"][2, :, 0] = False  # out for one step, and in again
    world["rollout_rewards"][2, :, 0] = 0.0
    expected = rollout.batch("left", policy, 1.0, 1.0)
    for junk in (1000.0, float("nan")):
        world["rollout_rewards"][2, :, 0] = junk
        found = rollout.batch("left", policy, 1.0, 1.0)
        assert torch.equal(found.advantages, expected.advantages)
        rollout.check_finite()


def test_an_agent_that_leaves_bootstraps_from_nothing() -> None:
    rollout = ready(Relay(leave_at=2, episode_length=6), 2, 8)
    rollout.collect()
    rows, batch = rollout.trajectories("left"), rollout.batch("left", POLICY, GAMMA, LAMBDA)
    advantages, values = batch.advantages.view(8, 2, 3), batch.values.view(8, 2, 3)
    assert batch.mask is not None
    for agent in range(3):
        leaves = 1 + agent  # its row; the game's is 5
        reward, value = rows.rewards[:, :, agent], values[:, :, agent]
        torch.testing.assert_close(advantages[leaves, :, agent], reward[leaves] - value[leaves])
        before = reward[leaves - 1] + GAMMA * value[leaves] - value[leaves - 1]
        expected = before + GAMMA * LAMBDA * advantages[leaves, :, agent]
        torch.testing.assert_close(advantages[leaves - 1, :, agent], expected)
        assert batch.counted().returns.max() < 1e4  # nothing of the 1e6 that agents get after they left


def test_groups_with_layouts_of_their_own_bootstrap_from_their_own_final_observations() -> None:
    rollout = ready(Relay(leave_at=0, episode_length=3), 2, 7)
    rollout.collect()
    for group, agents in (("left", [0, 1, 2]), ("right", [3, 4])):
        rows, batch = rollout.trajectories(group), rollout.batch(group, POLICY, GAMMA, LAMBDA)
        assert rows.observations[0, 1, :, :3].tolist() == [[0.0, 1.0, float(agent)] for agent in agents]
        for t in (2, 5):
            assert rows.truncated[t].all()
            final = rows.observations[t].clone()
            final[..., 0] = 3.0
            expected = rows.rewards[t] + GAMMA * told(final) - told(rows.observations[t])
            torch.testing.assert_close(batch.advantages.view(rows.rewards.shape)[t], expected)


def test_two_groups_of_one_policy_are_joined() -> None:
    rollout = ready(Clockwork(), 5, 4)
    rollout.collect()
    left, right = (rollout.batch(group, POLICY, GAMMA, LAMBDA) for group in ("left", "right"))
    joined = Batch.join([left, right])
    assert len(joined) == 60
    assert torch.equal(joined.observations[:40], left.observations)
    assert torch.equal(joined.returns[40:], right.returns)


class Restored(Clockwork):
    """An env without a reset phase, whose mask is written in every step and has an initial value."""

    def arrays(self) -> Any:
        return [Array("agent_mask", "bool", initial=True), Array("agent_terminated", "bool", initial=False)]

    def phases(self) -> Any:
        return [self._step, self._leave]

    def resets(self) -> Any:
        return []

    def _leave(self, arrays: Any, active: Tensor) -> None:
        arrays["agent_mask"] = (arrays["timestep"] == 1)[:, None].expand(-1, 3)
        arrays["agent_terminated"] = ~arrays["agent_mask"]


def test_what_a_reset_restores_is_recorded_before_it() -> None:
    rollout = ready(Restored(episode_length=2), 3, 4)
    rollout.collect()
    rows = rollout.trajectories("left")
    assert rows.mask[:, 0, 0].tolist() == [True, False, True, False]
    assert rows.agent_terminated[:, 0, 0].tolist() == [False, True, False, True]


# --- values -----------------------------------------------------------------------------------------------------------


def test_values_of_many_rows_are_those_of_each() -> None:
    observations = torch.randn(7, 50, 60, 3, generator=torch.Generator().manual_seed(0))[:, :, 5:]
    assert observations[..., 0].numel() > 2 * VALUE_ROWS["cpu"]
    assert torch.equal(values_of(POLICY, observations), told(observations))


def test_the_batch_is_what_gae_gives() -> None:
    rollout = ready(Clockwork(episode_length=100), 4, 8)
    rollout.collect()
    rows = rollout.trajectories("right")
    next_value = told(rollout.world.observations("right"))
    rewards, values = rows.rewards.double(), told(rows.observations).double()
    arguments = (rewards, values, rows.terminated, rows.truncated, None, next_value.double())
    advantages, returns = gae(*arguments, torch.zeros_like(rewards), gamma=GAMMA, gae_lambda=LAMBDA)
    batch = rollout.batch("right", POLICY, GAMMA, LAMBDA)
    torch.testing.assert_close(batch.advantages, advantages.flatten().float())
    torch.testing.assert_close(batch.returns, returns.flatten().float())


@pytest.mark.parametrize("kind", ["bytes", "mixed"])
def test_captured_steps_record_the_bytes_that_single_steps_do(kind: str) -> None:
    found = []
    for graph_steps in (0, 4):
        world = World(SeenAs(kind=kind), 5, seed=3)
        group, generator = world.groups["walker"], torch.Generator().manual_seed(0)
        policy = build_policy(ModelConfig(), group, generator).to(world.device)
        rollout = Recorded(world, {"walker": policy}, 8, graph_steps)
        world.reset()
        for _ in range(2):
            rollout.collect()
        rollout.check_finite()
        seen = rollout.trajectories("walker")
        found.append([seen.observations, seen.actions, seen.finals.observations, values_of(policy, seen.observations)])
    assert found[0][0].dtype == torch.uint8 and len(found[0][2])
    assert all(torch.equal(single, captured) for single, captured in zip(*found, strict=True))
