"""Generalised advantage estimation against numbers worked by hand and a slow reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from warpworld.errors import StoreError
from warpworld.trainers.algorithms.targets.gae import gae

NAN = float("nan")


def one_agent(
    terminated: Sequence[int] = (0, 0, 0),
    truncated: Sequence[int] = (0, 0, 0),
    final: Sequence[float] = (NAN, NAN, NAN),
) -> tuple[list[float], list[float]]:
    """Advantages and returns of rewards 1 2 3 and values 4 2 1, then 8, with gamma = gae_lambda = 1/2."""
    advantages, returns = gae(
        torch.tensor([1.0, 2.0, 3.0])[:, None, None],
        torch.tensor([4.0, 2.0, 1.0])[:, None, None],
        torch.tensor(terminated).bool()[:, None],
        torch.tensor(truncated).bool()[:, None],
        None,
        torch.tensor([[8.0]]),
        torch.tensor(final)[:, None, None],
        gamma=0.5,
        gae_lambda=0.5,
    )
    return advantages.flatten().tolist(), returns.flatten().tolist()


def test_by_hand_without_an_end() -> None:
    # delta = 1 + 2/2 - 4 = -2,  2 + 1/2 - 2 = 0.5,  3 + 8/2 - 1 = 6
    # A     = -2 + 2/4 = -1.5,   0.5 + 6/4 = 2,      6
    assert one_agent() == ([-1.5, 2.0, 6.0], [2.5, 4.0, 7.0])


def test_by_hand_terminated() -> None:
    # delta = -2,  2 + 0 - 2 = 0,  6;  A = -2 + 0/4,  0,  6
    assert one_agent(terminated=[0, 1, 0]) == ([-2.0, 0.0, 6.0], [2.0, 2.0, 7.0])


def test_by_hand_truncated_bootstraps_from_the_final_observation() -> None:
    # delta = -2,  2 + 10/2 - 2 = 5,  6;  A = -2 + 5/4 = -0.75,  5,  6
    assert one_agent(truncated=[0, 1, 0], final=[NAN, 10.0, NAN]) == ([-0.75, 5.0, 6.0], [3.25, 7.0, 7.0])


def test_terminated_and_truncated_at_once_is_terminated() -> None:
    assert one_agent(terminated=[0, 1, 0], truncated=[0, 1, 0], final=[NAN, 10.0, NAN]) == one_agent([0, 1, 0])


def test_an_end_in_the_last_row_leaves_next_value_out() -> None:
    # terminated: delta_2 = 3 - 1 = 2, A = -2 + 1/4 = -1.75, 0.5 + 2/4 = 1, 2
    assert one_agent(terminated=[0, 0, 1])[0] == [-1.75, 1.0, 2.0]
    # truncated at V = 4: delta_2 = 3 + 4/2 - 1 = 4, A = -2 + 1.5/4 = -1.625, 0.5 + 4/4 = 1.5, 4
    assert one_agent(truncated=[0, 0, 1], final=[NAN, NAN, 4.0])[0] == [-1.625, 1.5, 4.0]


def test_an_agent_that_leaves_is_cut_alone_and_what_follows_it_does_not_leak() -> None:
    # Agent 0 leaves at step 1; its rows up to the env's end at step 2 hold NaN; a new episode starts at step 3.
    rewards = torch.tensor([[1.0, 1.0], [2.0, 2.0], [NAN, 3.0], [4.0, 4.0]])[:, None]
    values = torch.tensor([[4.0, 4.0], [2.0, 2.0], [NAN, 1.0], [6.0, 6.0]])[:, None]
    left = torch.tensor([[False, False], [True, False], [False, False], [False, False]])[:, None]
    flags = torch.tensor([False, False, True, False])[:, None]
    final = torch.tensor([[0.0, 0.0], [0.0, 0.0], [NAN, 8.0], [0.0, 0.0]])[:, None]
    next_value = torch.tensor([[2.0, 2.0]])
    none = torch.zeros_like(flags)
    advantages, _ = gae(rewards, values, none, flags, left, next_value, final, gamma=0.5, gae_lambda=0.5)
    # new episode: delta_3 = 4 + 2/2 - 6 = -1. Agent 0 as in the terminated case, agent 1 as without an end (V = 8).
    assert advantages[[0, 1, 3], 0, 0].tolist() == [-2.0, 0.0, -1.0]
    assert advantages[:, 0, 1].tolist() == [-1.5, 2.0, 6.0, -1.0]


def test_leaving_in_the_step_that_is_truncated_does_not_bootstrap() -> None:
    flag = torch.ones(1, 1, dtype=torch.bool)
    x = torch.full((1, 1, 2), 3.0)
    left = torch.tensor([[[True, False]]])
    advantages, returns = gae(x, x, ~flag, flag, left, x[0], 10 * x, gamma=0.5, gae_lambda=1.0)
    assert advantages.flatten().tolist() == [0.0, 15.0]
    assert returns.flatten().tolist() == [3.0, 18.0]


def test_an_agent_that_is_cut_expects_the_value_of_what_it_observed_last() -> None:
    # Rewards of 1 with gamma = 1/2 are worth 2. Agent 0 is cut in step 1: row 2 holds its last observation, worth 2,
    # and an error of 98, which is not its own. Agent 1 dies there.
    ones = torch.ones(3, 1, 2)
    none = torch.zeros(3, 1, dtype=torch.bool)
    cut, died = (torch.tensor([[False, False], flags, [False, False]])[:, None] for flags in ([1, 0], [0, 1]))
    rewards = ones + torch.tensor([0.0, 0.0, 98.0])[:, None, None]
    _, returns = gae(
        *(rewards, 2 * ones, none, none, died.bool(), 2 * ones[0], ones * NAN),
        agent_truncated=cut.bool(),
        gamma=0.5,
        gae_lambda=1.0,
    )
    assert returns[:2, 0].tolist() == [[2.0, 1.5], [2.0, 1.0]]


def test_a_death_or_the_end_of_the_env_says_more_than_a_cut() -> None:
    x, flag = torch.full((1, 1, 2), 3.0), torch.ones(1, 1, dtype=torch.bool)
    cut, died = torch.ones(1, 1, 2, dtype=torch.bool), torch.tensor([[[True, False]]])
    for terminated, truncated, expected in ((~flag, ~flag, 16.5), (~flag, flag, 18.0), (flag, ~flag, 3.0)):
        _, returns = gae(
            x, x, terminated, truncated, died, 9 * x[0], 10 * x, agent_truncated=cut, gamma=0.5, gae_lambda=1.0
        )
        assert returns.flatten().tolist() == [3.0, expected]


def random_rollout(seed: int, steps: int, envs: int, agents: int, ends: float) -> dict[str, np.ndarray]:
    """Float64 arguments of ``gae`` by name, with NaN where nothing may be read."""
    random = np.random.default_rng(seed)
    truncated = random.random((steps, envs)) < ends
    final = np.where(truncated[..., None], random.normal(size=(steps, envs, agents)), NAN)
    return {
        "rewards": random.normal(size=(steps, envs, agents)),
        "values": random.normal(size=(steps, envs, agents)),
        "terminated": random.random((steps, envs)) < ends,
        "truncated": truncated,
        "agent_terminated": random.random((steps, envs, agents)) < ends,
        "agent_truncated": random.random((steps, envs, agents)) < ends,
        "next_value": random.normal(size=(envs, agents)),
        "truncated_values": final,
    }


def slow_gae(rollout: dict[str, np.ndarray], gamma: float, gae_lambda: float) -> np.ndarray:
    """Each trajectory by itself, each advantage as the plain sum of its discounted TD errors (equation 16)."""
    steps, envs, agents = rollout["rewards"].shape
    advantages = np.full((steps, envs, agents), NAN)
    for env in range(envs):
        for agent in range(agents):
            start = 0
            while start < steps:
                end, tail = start, None
                while tail is None:
                    if rollout["terminated"][end, env] or rollout["agent_terminated"][end, env, agent]:
                        tail = 0.0
                    elif rollout["truncated"][end, env]:
                        tail = rollout["truncated_values"][end, env, agent]
                    elif end == steps - 1:
                        tail = rollout["next_value"][env, agent]
                    elif rollout["agent_truncated"][end, env, agent]:
                        tail = rollout["values"][end + 1, env, agent]  # of what it observed last
                    else:
                        end += 1
                rewards = rollout["rewards"][start : end + 1, env, agent]
                values = [*rollout["values"][start : end + 1, env, agent], tail]
                deltas = [r + gamma * after - v for r, v, after in zip(rewards, values[:-1], values[1:], strict=True)]
                for i in range(len(deltas)):
                    terms = [(gamma * gae_lambda) ** k * delta for k, delta in enumerate(deltas[i:])]
                    advantages[start + i, env, agent] = sum(terms)
                start = end + 1
    return advantages


rollouts = st.builds(
    random_rollout,
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 12),
    envs=st.integers(1, 4),
    agents=st.integers(1, 3),
    ends=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
weights = st.sampled_from([0.0, 0.5, 0.95, 1.0])


@settings(max_examples=150)
@given(rollout=rollouts, gamma=weights, gae_lambda=weights)
def test_against_the_slow_reference(rollout: dict[str, np.ndarray], gamma: float, gae_lambda: float) -> None:
    expected = slow_gae(rollout, gamma, gae_lambda)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        tensors = {name: torch.from_numpy(x) for name, x in rollout.items()}
        tensors = {name: x if x.dtype == torch.bool else x.to(dtype) for name, x in tensors.items()}
        advantages, returns = gae(**tensors, gamma=gamma, gae_lambda=gae_lambda)
        assert advantages.dtype == dtype
        np.testing.assert_allclose(advantages.numpy(), expected, atol=tolerance)
        np.testing.assert_allclose(returns.numpy(), expected + rollout["values"], atol=tolerance)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), gamma=weights)
def test_lambda_one_gives_discounted_returns_and_lambda_zero_td_errors(seed: int, gamma: float) -> None:
    rollout = random_rollout(seed, steps=6, envs=3, agents=2, ends=0.0)
    tensors = {name: torch.from_numpy(x) for name, x in rollout.items()}
    _, returns = gae(**tensors, gamma=gamma, gae_lambda=1.0)
    advantages, _ = gae(**tensors, gamma=gamma, gae_lambda=0.0)
    following = tensors["next_value"]
    for t in reversed(range(6)):
        following = tensors["rewards"][t] + gamma * following
        torch.testing.assert_close(returns[t], following)
    after = torch.cat((tensors["values"][1:], tensors["next_value"][None]))
    torch.testing.assert_close(advantages, tensors["rewards"] + gamma * after - tensors["values"])


@pytest.mark.parametrize("name", ["agent_terminated", "agent_truncated"])
def test_without_agents_that_leave_the_flag_may_be_left_out(name: str) -> None:
    tensors = {name: torch.from_numpy(x) for name, x in random_rollout(0, 8, 3, 2, 0.2).items()}
    tensors[name] = torch.zeros_like(tensors[name])
    with_flag, _ = gae(**tensors, gamma=0.9, gae_lambda=0.9)
    without, _ = gae(**{**tensors, name: None}, gamma=0.9, gae_lambda=0.9)
    assert torch.equal(with_flag, without)


def test_arguments_are_left_as_they_were() -> None:
    tensors = {name: torch.from_numpy(x) for name, x in random_rollout(1, 5, 2, 2, 0.3).items()}
    before = {name: x.clone() for name, x in tensors.items()}
    gae(**tensors, gamma=0.9, gae_lambda=0.9)
    for name, x in tensors.items():
        torch.testing.assert_close(x, before[name], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("rewards", torch.zeros(4, 2), "expected (T, num_envs, agents)"),
        ("values", torch.zeros(4, 2), "values: shape (4, 2), expected (4, 2, 2)"),
        ("terminated", torch.zeros(4, 2, 2, dtype=torch.bool), "terminated: shape (4, 2, 2), expected (4, 2)"),
        ("truncated", torch.zeros(4, 2), "truncated: dtype torch.float32, expected torch.bool"),
        ("agent_terminated", torch.zeros(4, 2, dtype=torch.bool), "agent_terminated: shape"),
        ("agent_truncated", torch.zeros(4, 2, dtype=torch.bool), "agent_truncated: shape"),
        ("agent_truncated", torch.zeros(4, 2, 2), "agent_truncated: dtype torch.float32, expected torch.bool"),
        ("next_value", torch.zeros(1, 2, 2), "next_value: shape (1, 2, 2), expected (2, 2)"),
        ("truncated_values", torch.zeros(4, 2), "truncated_values: shape"),
    ],
)
def test_what_would_broadcast_to_wrong_numbers_is_refused(name: str, wrong: torch.Tensor, words: str) -> None:
    tensors = {key: torch.from_numpy(x) for key, x in random_rollout(0, 4, 2, 2, 0.2).items()}
    with pytest.raises(StoreError) as error:
        gae(**{**tensors, name: wrong}, gamma=0.9, gae_lambda=0.9)
    assert words in str(error.value)
