"""Rules of the games of particles, by hand, and what their parameters may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from warpworld import World
from warpworld.environment import get_environment
from warpworld.errors import DeclarationError

STAY, LEFT, RIGHT, DOWN, UP = range(5)


def started(game: str, num_envs: int = 1, **params: Any) -> World:
    world = packaged(f"particles_{game}", num_envs, device="cpu", **params)
    world.reset()
    return world


def place(world: World, agents: list[tuple[float, float]], landmarks: list[tuple[float, float]], goal: Any = 0) -> None:
    """Put all envs' agents and landmarks somewhere, at rest."""
    world["position"][:] = torch.tensor(agents)
    world["velocity"][:] = 0.0
    world["landmark"][:] = torch.tensor(landmarks)
    if "goal" in world.data:
        world["goal"][:] = torch.tensor(goal, dtype=torch.int32)


def act(world: World, *actions: int) -> None:
    world["actions"][:] = torch.tensor(actions, dtype=torch.int32)[:, None]
    world.step()


def test_an_action_is_a_push_that_moves_an_agent_one_step_later() -> None:
    world = started("spread", agents=4)
    corners = [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)]
    place(world, corners, corners)
    act(world, LEFT, RIGHT, DOWN, UP)
    np.testing.assert_allclose(world.data.numpy("position")[0], corners)
    velocity = 0.5 * np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])
    np.testing.assert_allclose(world.data.numpy("velocity")[0], velocity, rtol=1e-6)
    act(world, STAY, STAY, STAY, STAY)
    np.testing.assert_allclose(world.data.numpy("position")[0], corners + 0.1 * velocity, rtol=1e-6)
    np.testing.assert_allclose(world.data.numpy("velocity")[0], 0.75 * velocity, rtol=1e-6)


def test_agents_that_overlap_push_each_other_away_and_pay_for_it() -> None:
    world = started("spread", agents=2, local_ratio=0.25)
    place(world, [(0.0, 0.0), (0.2, 0.0)], [(0.0, 0.0), (0.2, 0.4)])
    act(world, STAY, STAY)
    np.testing.assert_allclose(world.data.numpy("velocity")[0], [[-1.0, 0.0], [1.0, 0.0]], rtol=1e-5)  # 0.1 deep
    np.testing.assert_allclose(world.data.numpy("rewards")[0], -0.75 * 0.4 - 0.25, rtol=1e-5)


def test_agents_in_one_point_have_no_direction_in_which_to_part() -> None:
    world = started("spread", agents=2)
    place(world, [(0.3, 0.0), (0.3, 0.0)], [(0.0, 0.0), (1.0, 0.0)])
    act(world, STAY, STAY)
    assert (world.data.numpy("velocity") == 0).all()


def test_pursuit_pays_all_adversaries_for_a_touch_and_agents_for_staying_inside() -> None:
    world = started("pursuit", agents=2, adversaries=2, obstacles=1)
    place(world, [(0.0, 0.0), (-0.5, 0.5), (0.1, 0.0), (0.95, -1.5)], [(0.5, 0.5)])
    act(world, *[STAY] * 4)
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [10, 10, -10, -0.5 - np.e], rtol=1e-4)


def test_push_pays_for_being_nearer_than_the_other() -> None:
    world = started("push", num_envs=2)
    place(world, [(1.0, 0.0), (0.0, 0.5)], [(0.0, 0.0), (1.0, 0.5)], goal=[0, 1])
    act(world, STAY, STAY)
    np.testing.assert_allclose(world.data.numpy("rewards"), [[0.5 - 1.0, -0.5], [1.0 - 0.5, -1.0]], rtol=1e-6)


def test_adversary_pays_the_agent_that_is_nearest() -> None:
    world = started("adversary")
    place(world, [(0.0, 0.8), (0.0, 0.5), (1.0, 1.0)], [(0.0, 0.0), (1.0, 0.0)])
    act(world, STAY, STAY, STAY)
    np.testing.assert_allclose(world.data.numpy("rewards")[0], [-0.8, 0.3, 0.3], rtol=1e-6)


def test_a_listener_hears_the_word_of_the_same_step() -> None:
    world = started("speaker_listener", num_envs=3)
    place(world, [(0.0, 0.0), (0.5, 0.0)], [(0.0, 0.0), (0.5, 1.0), (-1.0, 0.0)], goal=[0, 1, 2])
    assert (world.data.numpy("observations_listener")[..., -3:] == 0).all()
    act(world, 2, UP)
    assert world.data.numpy("observations_listener")[:, 0, -3:].tolist() == [[0, 0, 1]] * 3
    np.testing.assert_allclose(world.data.numpy("observations_speaker")[:, 0], 0.15 + 0.5 * np.eye(3), rtol=1e-6)
    np.testing.assert_allclose(world.data.numpy("rewards"), [[-0.25] * 2, [-1.0] * 2, [-2.25] * 2], rtol=1e-6)


def test_critics_read_how_the_listener_moves_and_where_its_goal_is() -> None:
    world = started("speaker_listener", num_envs=2)
    place(world, [(0.0, 0.0), (0.5, 0.0)], [(0.0, 0.0), (0.5, 1.0), (-1.0, 0.0)], goal=[0, 1])
    act(world, 2, UP)
    np.testing.assert_allclose(world.data.numpy("overview"), [[0, 0.5, -0.5, 0], [0, 0.5, 0, 1]], atol=1e-6)


def test_reference_pays_an_agent_for_where_the_other_is() -> None:
    world = started("reference", local_ratio=0.75)
    place(world, [(0.0, 0.0), (0.5, 0.0)], [(0.0, 0.0), (0.5, 1.0), (-1.0, 0.0)], goal=[1, 2])
    act(world, STAY + 5 * 9, LEFT + 5 * 4)
    assert world.data.numpy("word").tolist() == [[9, 4]]
    assert world.data.numpy("observations")[0, :, -10:].argmax(-1).tolist() == [4, 9]
    of_other = np.array([1.0, 1.0])  # the second from landmark 1, the first from landmark 2
    np.testing.assert_allclose(world.data.numpy("rewards")[0], -0.75 * of_other - 0.25, rtol=1e-6)


def test_critics_of_reference_read_how_both_move_and_where_their_goals_are() -> None:
    world = started("reference")
    place(world, [(0.0, 0.0), (0.5, 0.0)], [(0.0, 0.0), (0.5, 1.0), (-1.0, 0.0)], goal=[1, 2])
    act(world, UP, LEFT)
    own, other = [0, 0.5, -1, 0], [-0.5, 0, 0, 1]  # the first walks to landmark 2, the second to landmark 1
    np.testing.assert_allclose(world.data.numpy("overview")[0], [own + other, other + own], atol=1e-6)


def test_episodes_begin_all_over_the_square_with_every_goal() -> None:
    for game in ("adversary", "push", "pursuit", "reference", "simple", "speaker_listener", "spread"):
        world = started(game, num_envs=256)
        for name, most in (("position", 1.0), ("landmark", 0.9 if game == "pursuit" else 1.0)):
            values = world.data.numpy(name)
            assert -most <= values.min() < -0.98 * most and 0.98 * most < values.max() <= most
            assert np.unique(values).size > 0.99 * values.size
        assert (world.data.numpy("velocity") == 0).all()
        if "goal" in world.data:
            counts = np.bincount(world.data.numpy("goal").reshape(-1), minlength=world.environment.num_landmarks)
            assert counts.min() > 50


def test_each_env_may_have_its_own_damping_mass_and_prey() -> None:
    world = started("pursuit", num_envs=2, damping=[0.0, 0.5], mass=[1.0, 2.0], prey_speed=[1.0, 0.5], adversaries=1)
    place(world, [(-0.5, 0.0), (0.5, 0.0)], [(0.0, 0.9), (0.0, -0.9)])
    act(world, RIGHT, RIGHT)
    act(world, RIGHT, STAY)
    np.testing.assert_allclose(world.data.numpy("velocity")[..., 0], [[0.6, 0.4], [0.225, 0.05]], rtol=1e-5)


@pytest.mark.parametrize(
    ("game", "params", "message"),
    [
        ("spread", {"agents": 0}, "agents=0: expected 1 to 128"),
        ("spread", {"agents": 129}, "agents=129: expected 1 to 128"),
        ("spread", {"local_ratio": 1.5}, "local_ratio=1.5: expected 0 to 1"),
        ("spread", {"episode_length": 0}, "episode_length=0: expected 1 to 2^31 - 1"),
        ("push", {"damping": -0.1}, "damping=-0.1: expected 0 to 1"),
        ("push", {"mass": 0.0}, "mass=0.0: expected a finite number above 0"),
        ("pursuit", {"adversaries": -1}, "adversaries=-1: expected 1 to 128"),
        ("pursuit", {"obstacles": 0}, "obstacles=0: expected 1 to 128"),
        ("pursuit", {"prey_speed": float("inf")}, "prey_speed=inf: expected a finite number above 0"),
        ("adversary", {"agents": 0}, "agents=0: expected 1 to 128"),
        ("reference", {"local_ratio": -1.0}, "local_ratio=-1.0: expected 0 to 1"),
    ],
)
def test_wrong_parameters(game: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        get_environment(f"particles_{game}")(**params)
    assert str(caught.value).endswith(message)
