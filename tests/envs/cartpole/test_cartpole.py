"""CartPole against a float64 oracle and against Gymnasium's own environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.envs.cartpole import cartpole_oracle as oracle
from tests.packaged import packaged
from warpworld import World
from warpworld.envs.cartpole.cartpole import CartPole
from warpworld.errors import DeclarationError

# Of position, velocity, angle and angular velocity; all but a few states of real episodes lie within.
REACH = np.array([2.4, 4.0, 0.21, 4.0])
# One step in float32: rounding of numbers of this size, a few times over.
TOLERANCE = dict(rtol=1e-6, atol=1e-6)


def make(num_envs: int, seed: int = 0, **params: Any) -> World:
    """A world on the cpu that keeps its final observations, after its first reset."""
    world = packaged("cartpole", num_envs=num_envs, device="cpu", seed=seed, final_observations=True, **params)
    world.reset()
    return world


def act(world: World, actions: np.ndarray) -> np.ndarray:
    """One step; returns the states it led to, before any reset."""
    world["actions"][:] = torch.tensor(actions, dtype=torch.int32)[:, None, None]
    world.step()
    ended = (world["terminated"] | world["truncated"])[:, None]
    return torch.where(ended, world["final_observations"][:, 0], world["observations"][:, 0]).cpu().numpy()


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
@pytest.mark.long
def test_steps_from_random_states_are_the_oracles(seed: int) -> None:
    generator = np.random.default_rng(seed)
    world = make(500)
    world["state"] = torch.tensor(generator.uniform(-REACH, REACH, (500, 1, 4)), dtype=torch.float32)
    before, actions = world.data.numpy("state")[:, 0].copy(), generator.integers(0, 2, 500)
    after = act(world, actions)
    expected, fallen = oracle.step(before, actions)
    np.testing.assert_allclose(after, expected, **TOLERANCE)
    clear = ~oracle.near_threshold(expected)
    np.testing.assert_array_equal(world.data.numpy("terminated")[clear], fallen[clear])


def test_steps_of_episodes_are_the_oracles() -> None:
    generator = np.random.default_rng(0)
    world = make(1000, episode_length=50)
    compared = unclear = ends = 0
    for _ in range(200):
        before, timestep = world.data.numpy("state")[:, 0].copy(), world.data.numpy("timestep") + 1
        actions = generator.integers(0, 2, 1000)
        after = act(world, actions)
        expected, fallen = oracle.step(before, actions)
        np.testing.assert_allclose(after, expected, **TOLERANCE)
        clear = ~oracle.near_threshold(expected)
        np.testing.assert_array_equal(world.data.numpy("terminated")[clear], fallen[clear])
        np.testing.assert_array_equal(world.data.numpy("truncated"), timestep >= 50)
        np.testing.assert_array_equal(world.data.numpy("rewards"), 1.0)
        compared, unclear, ends = compared + 1000, unclear + int((~clear).sum()), ends + int(fallen.sum())
    assert unclear < compared / 1000
    assert ends > 5000


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
@pytest.mark.long
def test_steps_are_gymnasiums(seed: int) -> None:
    """From the same states, one step at a time; velocities up to what its episodes reach."""
    generator = np.random.default_rng(seed)
    reference = gymnasium.make("CartPole-v1").unwrapped
    reference.reset(seed=0)
    world = make(64)
    world["state"] = torch.tensor(generator.uniform(-REACH, REACH, (64, 1, 4)), dtype=torch.float32)
    before, actions = world.data.numpy("state")[:, 0].copy(), generator.integers(0, 2, 64)
    after = act(world, actions)
    for env in range(64):
        reference.state = before[env].astype(np.float64)
        reference.steps_beyond_terminated = None
        observation, reward, terminated, _, _ = reference.step(int(actions[env]))
        np.testing.assert_allclose(after[env], observation, **TOLERANCE)
        assert reward == world["rewards"][env, 0] == 1.0
        if not oracle.near_threshold(np.array([reference.state]))[0]:
            assert terminated == bool(world["terminated"][env])


def test_each_env_falls_by_its_own_gravity() -> None:
    generator = np.random.default_rng(1)
    world = make(500, randomize={"gravity": (1.0, 25.0)})
    drawn = set()
    for _ in range(60):
        before, gravity = world.data.numpy("state")[:, 0].copy(), world.data.numpy("gravity").copy()
        actions = generator.integers(0, 2, 500)
        expected, _ = oracle.step(before, actions, gravity.astype(np.float64))
        np.testing.assert_allclose(act(world, actions), expected, **TOLERANCE)
        assert gravity.min() >= 1.0 and gravity.max() <= 25.0
        drawn |= set(gravity.tolist())
    assert len(drawn) > 1000


def test_each_env_has_its_own_masses_length_and_force() -> None:
    generator = np.random.default_rng(1)
    ranges = dict(cart_mass=(0.5, 2.0), pole_mass=(0.05, 0.5), pole_length=(0.5, 2.0), force=(5.0, 15.0))
    world = make(500, randomize=ranges)
    drawn: dict[str, set[float]] = {name: set() for name in ranges}
    for _ in range(60):
        before = world.data.numpy("state")[:, 0].copy()
        own = {name: world.data.numpy(name).copy() for name in ranges}
        actions = generator.integers(0, 2, 500)
        expected, _ = oracle.step(before, actions, **{name: own[name].astype(np.float64) for name in ranges})
        np.testing.assert_allclose(act(world, actions), expected, **TOLERANCE)
        for name, (low, high) in ranges.items():
            assert own[name].min() >= np.float32(low) and own[name].max() <= np.float32(high)
            drawn[name] |= set(own[name].tolist())
    assert all(len(values) > 1000 for values in drawn.values())


def test_spaces_and_time_limit_are_gymnasiums() -> None:
    reference = gymnasium.make("CartPole-v1")
    group = CartPole().groups()[0]
    assert group.observation == reference.observation_space
    assert group.action == reference.action_space
    assert CartPole().params.episode_length == reference.spec.max_episode_steps  # type: ignore[attr-defined, union-attr]


def test_starts_are_uniform_in_all_four_numbers() -> None:
    world = make(4000, seed=5)
    drawn = world.data.numpy("state")[:, 0]
    assert np.all(np.abs(drawn) <= 0.05)
    np.testing.assert_array_equal(drawn, world.data.numpy("observations")[:, 0])
    for column in drawn.T:
        counts, _ = np.histogram(column, 20, (-0.05, 0.05))
        assert ((counts - 200.0) ** 2 / 200.0).sum() < 50  # chi-square of 19 degrees of freedom: 1 in 7000
    assert np.abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.06


def test_a_fall_at_the_time_limit_is_an_end_by_itself() -> None:
    world = make(1, episode_length=1)
    world["state"] = torch.tensor([[[0.0, 0.0, 0.209, 3.0]]])
    act(world, np.array([1]))
    assert world["terminated"][0] and world["truncated"][0]  # both set means terminated


@pytest.mark.parametrize("episode_length", [0, -1, 2**31])
def test_impossible_parameters_are_refused(episode_length: int) -> None:
    with pytest.raises(DeclarationError, match=f"episode_length={episode_length}"):
        CartPole(episode_length=episode_length)


@pytest.mark.parametrize("gravity", [-1.0, float("inf")])
def test_an_impossible_gravity_is_refused(gravity: float) -> None:
    with pytest.raises(DeclarationError) as caught:
        CartPole(gravity=gravity)
    assert str(caught.value) == f"cartpole: gravity={gravity}: expected a finite number of at least 0"


@pytest.mark.parametrize("name", ["cart_mass", "pole_mass", "pole_length", "force"])
@pytest.mark.parametrize("value", [0.0, float("inf")])
def test_what_is_not_above_0_is_refused(name: str, value: float) -> None:
    with pytest.raises(DeclarationError) as caught:
        CartPole(**{name: value})
    assert str(caught.value) == f"cartpole: {name}={value}: expected a finite number above 0"
