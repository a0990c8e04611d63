"""Waypoint and PointGoal: where goals are, how they are shown, and what reaching one brings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.brute_force import BrutePointGoal
from tests.packaged import packaged
from warpworld import World
from warpworld.envs.point_goal.point_goal import PointGoal
from warpworld.errors import DeclarationError

SMALL: dict[str, Any] = {"num_plans": 3, "max_rooms": 8, "res": 32, "subsample": 4}
BOX: dict[str, Any] = {"plans": "box", "res": 32, "subsample": 4}
BOTH = pytest.mark.parametrize("name", ["waypoint", "point_goal"])


def made(name: str, num_envs: int, **params: Any) -> World:
    world = packaged(name, num_envs, device="cpu", seed=5, **params)
    world.reset()
    return world


def in_frame(vector: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Vectors (envs, 2) as seen by those who look along ``angle`` (envs,), degrees: ahead, and to the left."""
    cosine, sine = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    return np.stack([cosine * vector[:, 0] + sine * vector[:, 1], cosine * vector[:, 1] - sine * vector[:, 0]], axis=1)


@BOTH
def test_the_goal_is_shown_from_where_the_agent_is_or_was(name: str) -> None:
    world, draws = made(name, 20, **SMALL), np.random.default_rng(0)
    number = world.data.numpy
    start, start_angle = number("positions")[:, 0].astype(np.float64), number("angles")[:, 0].astype(np.float64)
    alive = np.ones(20, dtype=bool)
    for _ in range(40):
        now, angle = number("positions")[:, 0].astype(np.float64), number("angles")[:, 0].astype(np.float64)
        goal = number("goal")[:, 0].astype(np.float64)
        expected = in_frame(goal - now, angle) if name == "waypoint" else in_frame(goal - start, start_angle)
        assert np.allclose(number("observations_goal")[alive, 0], expected[alive], atol=1e-4)
        world["actions"][:] = torch.as_tensor(draws.integers(0, 7, number("actions").shape))
        world.step()
        alive &= ~number("terminated")
    assert alive.sum() > 10
    assert np.abs(now - start).max() > 0.5


@BOTH
def test_reaching_the_goal_pays_and_ends_the_episode(name: str) -> None:
    """One step before the goal, flying towards it, in three of four envs."""
    world = made(name, 4, **BOX)
    number = world.data.numpy
    world["positions"][:] = torch.as_tensor([3.0, 3.0])
    world["angles"][:] = 0.0
    world["goal"][:, 0] = torch.as_tensor([[3.3, 3.0], [3.36, 3.0], [3.0, 3.2], [5.0, 3.0]])
    world["velocity"][:, 0] = torch.as_tensor([[2.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    world.step()  # 0.175 m along x, or 0.0875 m along y
    reached = np.array([True, False, True, False])
    assert np.array_equal(number("terminated"), reached)
    assert np.array_equal(number("rewards")[:, 0], reached.astype(np.float32))
    assert np.array_equal(number("timestep"), np.where(reached, 0, 1))
    assert not np.allclose(number("goal")[reached, 0], [[3.3, 3.0], [3.0, 3.2]])


@BOTH
def test_time_limits_are_drawn_between_half_the_steps_and_all(name: str) -> None:
    world = made(name, 2000, episode_length=21, **BOX)
    limits = world.data.numpy("limit").copy()
    assert set(limits.tolist()) == set(range(11, 22))
    world["goal"][:] = -100.0
    ended = np.zeros(2000, dtype=int)
    for step in range(1, 22):
        world.step()
        first = world.data.numpy("truncated") & (ended == 0)
        ended[first] = step
        world["goal"][:] = -100.0
    assert np.array_equal(ended, limits)


def test_goals_are_drawn_as_published() -> None:
    """Of ten places one, with the weight exp(-10 |log10 d|): against 200,000 draws by NumPy, in a box."""
    world = made("waypoint", 20_000, **BOX)
    cells = world.environment.params.plan_set["plan_cells"].astype(np.float64)
    draws = np.random.default_rng(1)

    def place(*shape: int) -> np.ndarray:
        return cells[draws.integers(0, len(cells), shape)] + draws.uniform(-0.1, 0.1, (*shape, 2))

    distance = np.linalg.norm(place(200_000, 10) - place(200_000, 1), axis=2)
    scores = -10.0 * np.abs(np.clip(np.log10(distance), -2.0, 2.0)) + draws.gumbel(size=distance.shape)
    expected = distance[np.arange(200_000), scores.argmax(axis=1)]
    found = np.linalg.norm(world.data.numpy("goal") - world.data.numpy("positions"), axis=2)[:, 0]
    levels = np.linspace(0.05, 0.95, 19)
    share = np.searchsorted(np.sort(expected), np.quantile(found, levels)) / len(expected)
    assert share == pytest.approx(levels, abs=0.015)  # four standard errors of 20,000


def test_walking_straight_to_the_goal_reaches_it_in_an_empty_box() -> None:
    """By pushes that change the velocity towards what is wanted; every episode that ends does so at its goal."""
    world = made("waypoint", 64, **BOX)
    pushes = torch.tensor([[0.0, 0.0], [0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])
    reached = missed = 0
    for _ in range(400):
        ahead = world["observations_goal"][:, 0].cpu()
        wanted = (3.0 * ahead).clamp(-1.0, 1.0)  # metres a second
        lacking = wanted - 10.0 * world["observations_imu"][:, 0, 1:].cpu()
        gain = 0.5 * lacking @ pushes.T - 0.125 * pushes.norm(dim=1)  # a push changes the velocity by 0.5 m/s
        world["actions"][:, 0, 0] = gain.argmax(dim=1).int()
        world.step()
        reached += int(world["terminated"].sum())
        missed += int((world["truncated"] & ~world["terminated"]).sum())
    assert missed == 0
    assert reached > 500


def test_it_sees_what_an_explorer_sees() -> None:
    explorer, walker = made("explorer", 8, **SMALL), made("waypoint", 8, **SMALL)
    for world in (explorer, walker):
        for name in ("positions", "angles", "plan"):
            world[name][:] = torch.as_tensor(explorer.data.numpy(name))
        world["velocity"][:] = 0.0
        world["goal" if world is walker else "velocity"][:] = 0.0
        world.step()
    for name in ("observations_rgb", "observations_depth", "observations_imu"):
        assert np.array_equal(explorer.data.numpy(name), walker.data.numpy(name))
        assert np.isfinite(walker.data.numpy(name)).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"goal_radius": 0.0}, "goal_radius=0.0: expected a finite number above 0"),
        ({"episode_length": 1}, "episode_length=1: expected 2 to 2^31 - 1"),
        ({"fixed_frame": True}, "no parameter 'fixed_frame'"),
    ],
    ids=["goal_radius", "episode_length", "fixed_frame"],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        packaged("waypoint", 1, **{**SMALL, **params})
    assert message in str(error.value)


def test_brute_force_draws_the_same() -> None:
    """What the GPU suite compares with: pixels differ only where a ray grazes the end of a wall or of a texel."""
    worlds = [World(kind(**SMALL), 40, device="cpu", seed=3) for kind in (PointGoal, BrutePointGoal)]
    draws, different = np.random.default_rng(2), []
    for world in worlds:
        world.reset()
    for _ in range(30):
        actions = draws.integers(0, 7, worlds[0]["actions"].shape).astype(np.int32)
        for world in worlds:
            world["actions"] = actions
            world.step()
        ours, theirs = (world.data.numpy("observations_rgb") for world in worlds)
        different.append((np.abs(ours - theirs) > 0.005).any(axis=2))
        near, theirs_near = (world.data.numpy("observations_depth") for world in worlds)
        different.append((np.abs(near - theirs_near) > 0.005).any(axis=2))
        for name in ("positions", "observations_goal", "observations_imu", "rewards"):
            assert np.array_equal(*(world.data.numpy(name) for world in worlds)), name
    assert np.mean(different) < 0.01  # of pixels, which are four rays each
    assert np.ptp(ours) > 0.1
