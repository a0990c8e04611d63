"""Pendulum against Gymnasium's own environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

import warpworld
from tests.packaged import packaged
from warpworld import World
from warpworld.envs.pendulum.pendulum import Pendulum
from warpworld.errors import DeclarationError

TOLERANCE = dict(rtol=1e-5, atol=1e-5)


def make(num_envs: int, seed: int = 0, **params: Any) -> World:
    """A world on the cpu that keeps its final observations, after its first reset."""
    world = packaged("pendulum", num_envs=num_envs, device="cpu", seed=seed, final_observations=True, **params)
    world.reset()
    return world


def at_state(env: Any, arrays: Any) -> None:
    """Put an env of Gymnasium where an env of ours is."""
    env.state = arrays["state"][0].astype(np.float64)


def act(world: World, torques: np.ndarray) -> None:
    """One step with a torque for each env."""
    world["actions"][:] = torch.from_numpy(torques.astype(np.float32))[:, None, None]
    world.step()


@pytest.mark.parametrize("gravity", [10.0, 3.7])
def test_steps_of_episodes_are_gymnasiums(gravity: float) -> None:
    reference = gymnasium.make("Pendulum-v1", g=gravity)
    found = warpworld.compare("pendulum", reference, at_state, num_envs=4, steps=205, gravity=gravity)
    assert found.agrees, str(found)
    assert found.ends == 4 and found.worst["terminated"] == 0.0
    assert max(found.worst["observations"], found.worst["rewards"]) < 1e-5


def test_steps_from_any_state_are_gymnasiums() -> None:
    """At the limits of speed and torque too."""
    generator = np.random.default_rng(0)
    reference: Any = gymnasium.make("Pendulum-v1").unwrapped
    reference.reset(seed=0)
    world = make(500)
    states = generator.uniform((-np.pi, -9.0), (np.pi, 9.0), (500, 2)).astype(np.float32)
    states[:, 1] = states[:, 1].clip(-8.0, 8.0)
    torques = generator.uniform(-3.0, 3.0, 500)
    world["state"][:, 0] = torch.from_numpy(states)
    act(world, torques)
    limited = 0
    for env in range(500):
        reference.state = states[env].astype(np.float64)
        observation, reward, *_ = reference.step(np.array([torques[env]]))
        np.testing.assert_allclose(world.data.numpy("observations")[env, 0], observation, **TOLERANCE)
        np.testing.assert_allclose(world.data.numpy("rewards")[env, 0], reward, **TOLERANCE)
        limited += abs(reference.state[1]) == 8.0
    assert limited > 10


def test_an_episode_is_gymnasiums_and_ends_in_its_step() -> None:
    """A whole trajectory instead of single steps, under weak torques: what little differs at first stays little."""
    reference = gymnasium.make("Pendulum-v1")
    observation, _ = reference.reset(seed=3)
    world = make(1)
    world["state"][0, 0] = torch.from_numpy(reference.unwrapped.state)  # type: ignore[attr-defined]
    for step in range(200):
        torque = np.array([0.5 * np.sin(0.3 * step)], np.float32)
        act(world, torque)
        observation, reward, terminated, truncated, _ = reference.step(torque)
        seen = world["final_observations"] if truncated else world["observations"]
        np.testing.assert_allclose(seen[0, 0].cpu().numpy(), observation, atol=2e-3)
        np.testing.assert_allclose(world["rewards"][0, 0].item(), reward, atol=2e-2)
        assert (
            (bool(world["terminated"][0]), bool(world["truncated"][0]))
            == (terminated, truncated)
            == (False, step == 199)
        )


def test_a_rod_that_turns_over_stays_between_minus_pi_and_pi() -> None:
    world = make(2, gravity=0.0)
    world["state"] = [[[3.0, 7.0]], [[-3.0, -7.0]]]
    torques, turned = np.array([2.0, -2.0]), np.array([3.0, -3.0])
    for step in range(150):
        act(world, torques)
        state = world.data.numpy("state")[:, 0]
        turned += state[:, 1] * 0.05
        assert np.all(np.abs(state[:, 0]) <= np.float32(np.pi)), step
        np.testing.assert_allclose(np.cos(turned), world.data.numpy("observations")[:, 0, 0], atol=1e-3)
    assert np.abs(turned).min() > 50.0
    np.testing.assert_array_equal(state[:, 1], [8.0, -8.0])


def test_each_env_has_its_own_gravity() -> None:
    world = make(3, gravity=[0.0, 5.0, 10.0])
    world["state"] = [[[1.0, 0.0]]] * 3
    act(world, np.zeros(3))
    np.testing.assert_allclose(
        world.data.numpy("state")[:, 0, 1], np.array([0.0, 5.0, 10.0]) * 1.5 * np.sin(1.0) * 0.05, rtol=1e-6
    )


def test_spaces_and_time_limit_are_gymnasiums() -> None:
    reference = gymnasium.make("Pendulum-v1")
    group = Pendulum().groups()[0]
    assert group.observation == reference.observation_space
    assert group.action == reference.action_space
    assert Pendulum().params.episode_length == reference.spec.max_episode_steps  # type: ignore[union-attr]
    assert Pendulum().params.gravity == reference.unwrapped.g  # type: ignore[attr-defined]


def test_starts_are_uniform_in_both_numbers() -> None:
    world = make(4000, seed=5)
    angle, speed = world.data.numpy("state")[:, 0].T
    expected = np.stack([np.cos(angle), np.sin(angle), speed], 1)
    np.testing.assert_allclose(world.data.numpy("observations")[:, 0], expected, atol=1e-6)
    for column, limit in ((angle, np.pi), (speed, 1.0)):
        assert np.all(np.abs(column) <= limit)
        counts, _ = np.histogram(column, 20, (-limit, limit))
        assert ((counts - 200.0) ** 2 / 200.0).sum() < 50  # chi-square of 19 degrees of freedom: 1 in 7000
    assert abs(np.corrcoef(angle, speed)[0, 1]) < 0.06


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
        ({"episode_length": 2**31}, "episode_length=2147483648: expected 1 to 2^31 - 1"),
        ({"gravity": -1.0}, "gravity=-1.0: expected a finite number of at least 0"),
        ({"gravity": float("inf")}, "gravity=inf: expected a finite number of at least 0"),
    ],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Pendulum(**params)
    assert str(caught.value).endswith(message)
