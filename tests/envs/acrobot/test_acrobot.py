"""Acrobot against Gymnasium's own environment."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from tests.envs.classic_steps import gymnasiums, make, ours
from warpworld.envs.acrobot.acrobot import Acrobot
from warpworld.errors import DeclarationError

# Of angles and speeds, in radians and radians / s.
LIMITS = np.array([np.pi, np.pi, 4 * np.pi, 9 * np.pi])
REACH = LIMITS * [1.0, 1.0, 0.6, 0.6]  # episodes of a policy that swings stay within
SCALE = np.array([1, 1, 1, 1, 4 * np.pi, 9 * np.pi])  # of observations


@pytest.mark.long
@pytest.mark.parametrize(
    ("ours_too", "theirs"),
    [
        ({}, {}),
        (dict(link_mass_1=0.7, link_mass_2=1.6), dict(LINK_MASS_1=0.7, LINK_MASS_2=1.6)),
        (
            dict(link_length_1=0.8, link_length_2=1.3),
            dict(LINK_LENGTH_1=0.8, LINK_COM_POS_1=0.4, LINK_LENGTH_2=1.3, LINK_COM_POS_2=0.65),
        ),
    ],
    ids=["as-registered", "other-masses", "other-lengths"],
)
def test_steps_from_any_state_are_gymnasiums(ours_too: dict[str, float], theirs: dict[str, float]) -> None:
    """1e-5 of each number's range, 3,000 states; rewards and ends exactly, but where the tip is as high as the line."""
    generator = np.random.default_rng(0)
    states = generator.uniform(-REACH, REACH, (3000, 4)).astype(np.float32)
    actions = generator.integers(0, 3, 3000)
    found = ours(make("acrobot", 3000, **ours_too), states, actions)
    expected = gymnasiums("Acrobot-v1", states, actions, **theirs)
    np.testing.assert_allclose(found.observations / SCALE, expected.observations / SCALE, atol=1e-5)
    c1, s1, c2, s2 = expected.observations[:, :4].astype(np.float64).T
    clear = np.abs(-c1 - (c1 * c2 - s1 * s2) - 1.0) > 1e-5
    assert clear.mean() > 0.999
    np.testing.assert_array_equal(found.ends[clear], expected.ends[clear])
    np.testing.assert_array_equal(found.rewards[clear], expected.rewards[clear])
    assert 100 < expected.ends.sum() < 2900


@pytest.mark.long
def test_steps_at_full_speed_are_gymnasiums_but_for_rounding_that_they_amplify() -> None:
    """1e-5 of each number's range in 99.5 % of the states, and 1e-3 in all."""
    generator = np.random.default_rng(0)
    states = generator.uniform(-LIMITS, LIMITS, (3000, 4)).astype(np.float32)
    actions = generator.integers(0, 3, 3000)
    found, expected = ours(make("acrobot", 3000), states, actions), gymnasiums("Acrobot-v1", states, actions)
    difference = (np.abs(found.observations - expected.observations) / SCALE).max(1)
    assert (difference <= 1e-5).mean() >= 0.995
    assert difference.max() <= 1e-3


def test_each_env_has_its_own_gravity_masses_and_lengths() -> None:
    gravity, mass = np.array([0.0, 9.8, 5.0, 9.8]), np.array([1.0, 1.0, 2.0, 1.0])
    world = make("acrobot", 4, gravity=gravity, link_mass_2=mass, link_length_1=np.array([1.0, 1.0, 1.0, 0.5]))
    states = np.full((4, 4), [1.0, 0.0, 0.0, 0.0], dtype=np.float32)
    found = ours(world, states, np.array([1, 1, 1, 1]))
    assert found.observations[0, 4:].tolist() == [0.0, 0.0]  # nothing pulls, nothing pushes
    expected = gymnasiums("Acrobot-v1", states[1:2], np.array([1]))
    np.testing.assert_allclose(found.observations[1], expected.observations[0], atol=1e-5)
    assert np.abs(found.observations[2:, 4] - found.observations[1, 4]).min() > 0.1


def test_spaces_and_time_limit_are_gymnasiums() -> None:
    reference = gymnasium.make("Acrobot-v1")
    group = Acrobot().groups()[0]
    assert group.observation == reference.observation_space
    assert group.action == reference.action_space
    assert Acrobot().params.episode_length == reference.spec.max_episode_steps  # type: ignore[union-attr]


def test_starts_hang_down_nearly_at_rest() -> None:
    world = make("acrobot", 4000, seed=5)
    states = world.data.numpy("state")[:, 0]
    for column in states.T:
        counts, _ = np.histogram(column, 20, (-0.1, 0.1))
        assert counts.sum() == 4000
        assert ((counts - 200.0) ** 2 / 200.0).sum() < 50  # chi-square of 19 degrees of freedom: 1 in 7000
    angles = states[:, :2]
    expected = np.stack([np.cos(angles[:, 0]), np.sin(angles[:, 0]), np.cos(angles[:, 1]), np.sin(angles[:, 1])], 1)
    np.testing.assert_allclose(world.data.numpy("observations")[:, 0, :4], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
        ({"gravity": -1.0}, "gravity=-1.0: expected a finite number of at least 0"),
        ({"link_mass_1": 0.0}, "link_mass_1=0.0: expected a finite number above 0"),
        ({"link_mass_2": float("inf")}, "link_mass_2=inf: expected a finite number above 0"),
        ({"link_length_2": 0.0}, "link_length_2=0.0: expected a finite number above 0"),
    ],
)
def test_wrong_parameters(params: dict[str, float], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Acrobot(**params)
    assert str(caught.value).endswith(message)
