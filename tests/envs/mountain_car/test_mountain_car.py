"""Both mountain cars against Gymnasium's own."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from tests.envs.classic_steps import gymnasiums, make, ours
from warpworld.envs.mountain_car.mountain_car import MountainCar
from warpworld.envs.mountain_car.mountain_car_continuous import MountainCarContinuous
from warpworld.errors import DeclarationError

THEIRS = {"mountain_car": "MountainCar-v0", "mountain_car_continuous": "MountainCarContinuous-v0"}
CLASSES: dict[str, Any] = {"mountain_car": MountainCar, "mountain_car_continuous": MountainCarContinuous}
GOALS = {"mountain_car": 0.5, "mountain_car_continuous": 0.45}
each_car = pytest.mark.parametrize("name", THEIRS)


def actions_of(name: str, generator: np.random.Generator, count: int) -> Any:
    """Random actions, of a force beyond its ends too, as each library takes them."""
    if name == "mountain_car":
        chosen = generator.integers(0, 3, count)
        return chosen, chosen
    pushes = generator.uniform(-1.2, 1.2, count).astype(np.float32)
    return pushes, pushes[:, None]


@each_car
@pytest.mark.parametrize("goal_velocity", [0.0, 0.03])
def test_steps_from_any_state_are_gymnasiums(name: str, goal_velocity: float) -> None:
    """3,000 states up to both ends and the highest speed; ends and rewards exactly, but at the goal's very edge."""
    generator = np.random.default_rng(1)
    states = generator.uniform([-1.2, -0.07], [0.6, 0.07], (3000, 2)).astype(np.float32)
    states[:300] = generator.uniform([-1.2, -0.07], [-1.15, 0.0], (300, 2))  # into the wall
    mine, theirs = actions_of(name, generator, 3000)
    found = ours(make(name, 3000, goal_velocity=goal_velocity), states, mine)
    expected = gymnasiums(THEIRS[name], states, theirs, goal_velocity=goal_velocity)
    np.testing.assert_allclose(found.observations, expected.observations, atol=1e-6)
    position, velocity = expected.observations.astype(np.float64).T
    clear = (np.abs(position - GOALS[name]) > 1e-6) & (np.abs(velocity - goal_velocity) > 1e-6)
    assert clear.mean() > 0.85
    np.testing.assert_array_equal(found.ends[clear], expected.ends[clear])
    np.testing.assert_allclose(found.rewards[clear], expected.rewards[clear], atol=1e-5)
    assert expected.ends.sum() > 50
    assert (expected.observations == [np.float32(-1.2), 0.0]).all(1).sum() > 50  # stopped by the wall


@each_car
def test_an_episode_is_gymnasiums(name: str) -> None:
    """The car that pushes the way it drives gets out, in the same step."""
    reference = gymnasium.make(THEIRS[name])
    observation, _ = reference.reset(seed=2)
    world = make(name, 1)
    state, steps = reference.unwrapped.state, 0  # type: ignore[attr-defined]
    while True:
        ahead = observation[1] >= 0
        push = (2 if ahead else 0) if name == "mountain_car" else (1.0 if ahead else -1.0)
        found = ours(world, np.array([state], np.float32), np.array([push]))
        observation, reward, terminated, truncated, _ = reference.step(
            push if name == "mountain_car" else np.array([push], np.float32)
        )
        state, steps = found.observations[0], steps + 1
        np.testing.assert_allclose(state, observation, atol=1e-4)
        assert found.rewards[0] == pytest.approx(reward)
        assert found.ends[0] == terminated
        assert not truncated
        if terminated:
            break
    assert 50 < steps < 150


@each_car
def test_each_env_has_its_own_force_and_gravity(name: str) -> None:
    power = "force" if name == "mountain_car" else "power"
    world = make(name, 3, gravity=[0.0, 0.0025, 0.005], **{power: [0.001, 0.001, 0.002]})
    push = np.array([2, 2, 2]) if name == "mountain_car" else np.ones(3)
    found = ours(world, np.tile(np.array([-0.2, 0.0], np.float32), (3, 1)), push)
    slope = np.cos(3 * -0.2)
    expected = np.array([0.001, 0.001 - 0.0025 * slope, 0.002 - 0.005 * slope])
    np.testing.assert_allclose(found.observations[:, 1], expected, rtol=1e-4)


@each_car
def test_spaces_and_time_limit_are_gymnasiums(name: str) -> None:
    reference = gymnasium.make(THEIRS[name])
    environment = CLASSES[name]()
    group = environment.groups()[0]
    assert group.observation == reference.observation_space
    assert group.action == reference.action_space
    assert environment.params.episode_length == reference.spec.max_episode_steps  # type: ignore[union-attr]


@each_car
def test_starts_are_at_rest_near_the_bottom(name: str) -> None:
    state = make(name, 4000, seed=5).data.numpy("state")[:, 0]
    counts, _ = np.histogram(state[:, 0], 20, (-0.6, -0.4))
    assert counts.sum() == 4000
    assert ((counts - 200.0) ** 2 / 200.0).sum() < 50  # chi-square of 19 degrees of freedom: 1 in 7000
    assert np.all(state[:, 1] == 0.0)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("mountain_car", {"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
        ("mountain_car", {"force": -1.0}, "force=-1.0: expected a finite number of at least 0"),
        ("mountain_car", {"goal_velocity": 1.0}, "goal_velocity=1.0: expected -0.07 to 0.07"),
        ("mountain_car_continuous", {"power": -1.0}, "power=-1.0: expected a finite number of at least 0"),
        ("mountain_car_continuous", {"gravity": -1.0}, "gravity=-1.0: expected a finite number of at least 0"),
    ],
)
def test_wrong_parameters(name: str, params: dict[str, float], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        CLASSES[name](**params)
    assert str(caught.value).endswith(message)
