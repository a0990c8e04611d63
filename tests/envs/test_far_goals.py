"""Waypoint and PointGoal with goals at some way away: where they are, what a way pays, fixes, and the references."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.test_goals import in_frame
from tests.packaged import packaged
from warpworld import World
from warpworld.config import config_from_dict
from warpworld.errors import DeclarationError
from warpworld.eyes.plans import NO_WAY, WAY_CELL, WAY_UNIT
from warpworld.trainers.play import play

HOMES: dict[str, Any] = {"num_plans": 4, "min_rooms": 2, "max_rooms": 4, "res": 8, "subsample": 1, "goal_radius": 0.3}
FAR: dict[str, Any] = {**HOMES, "goal_distance": (1.0, 4.0), "episode_length": 40}


def made(name: str, num_envs: int, **params: Any) -> World:
    world = packaged(name, num_envs, device="cpu", seed=5, **{**FAR, **params})
    world.reset()
    return world


def ways_of(world: World) -> np.ndarray:
    """(envs,) metres to each env's goal by the fields, from where its agent is; infinite where no cell is near."""
    number = world.data.numpy
    grids, fields, straight = number("plan_ways"), number("way_fields"), []
    for env, (x, y) in enumerate(number("positions")[:, 0].astype(np.float64)):
        first, columns, rows, cells = grids[number("plan")[env]].tolist()
        field = fields[first + number("goal_place")[env] * cells :][:cells].reshape(rows, columns)
        middles = WAY_CELL * (np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), -1) + 0.5)
        off = np.linalg.norm(middles - (x, y), axis=-1)
        metres = np.where(field == NO_WAY, np.inf, WAY_UNIT * field + off)
        to_goal = np.linalg.norm(number("goal")[env, 0] - (x, y))
        around = next((reach for reach in (0.226066, 0.32) if np.isfinite(metres[off < reach]).any()), 0.0)
        way = max(metres[off < around].min(initial=np.inf), to_goal)
        straight.append(to_goal if to_goal < 0.212132 else way)
    return np.array(straight)


@pytest.mark.parametrize("name", ["waypoint", "point_goal"])
def test_goals_are_so_far_away_and_ways_are_those_of_the_fields(name: str) -> None:
    world, draws = made(name, 300), np.random.default_rng(0)
    number = world.data.numpy
    places = number("way_places").reshape(4, -1, 2)
    assert np.array_equal(places[number("plan"), number("goal_place")], number("goal")[:, 0])
    assert np.array_equal(number("way"), number("shortest"))
    assert (number("way") >= 1.0).all() and (number("way") <= 4.0).all()
    assert number("way").min() < 1.3 and number("way").max() > 3.7
    assert len(np.unique(number("goal_place"))) == places.shape[1] == 32
    for _ in range(10):
        world["actions"][:] = torch.as_tensor(draws.integers(1, 5, number("actions").shape))
        world.step()
        expected = ways_of(world)
        assert np.isfinite(expected).mean() > 0.99
        known = np.isfinite(expected)
        assert np.allclose(number("way")[known], expected[known], atol=1e-4)


def test_pay_is_for_the_goal_and_for_each_metre_by_which_the_way_became_shorter() -> None:
    """Over an episode it telescopes; ``walked`` is the path in float64."""
    world, draws = made("waypoint", 400, episode_length=60), np.random.default_rng(1)
    number = world.data.numpy
    world["shaping"].fill_(0.5)
    began, paid, walked = number("shortest").astype(np.float64), np.zeros(400), np.zeros(400)
    going, goals = np.ones(400, dtype=bool), 0
    for _ in range(60):
        before = number("positions").astype(np.float64)
        world["actions"][:] = torch.as_tensor(draws.integers(0, 5, number("actions").shape))
        world.step()
        ended = number("terminated") | number("truncated")
        paid += number("rewards")[:, 0] * going
        still = going & ~ended
        walked[still] += np.linalg.norm(number("positions") - before, axis=-1)[still, 0]
        assert np.allclose(number("walked")[still], walked[still], atol=1e-3)
        assert np.allclose(paid[still], 0.5 * (began - number("way"))[still], atol=1e-4)
        # at the goal the way is the radius at most, over the middle of a cell that is 0.226 m away at most
        done = going & number("terminated")
        goals += int(done.sum())
        assert ((paid - 1.0 - 0.5 * began)[done] > -0.5 * (0.3 + 0.226)).all()
        assert ((paid - 1.0 - 0.5 * began)[done] <= 1e-4).all()
        going = still
    assert goals > 5 and not going.all()


def test_without_shaping_only_the_goal_pays() -> None:
    world, draws = made("waypoint", 200), np.random.default_rng(1)
    for _ in range(40):
        world["actions"][:] = torch.as_tensor(draws.integers(0, 5, world.data.numpy("actions").shape))
        world.step()
        assert np.array_equal(world.data.numpy("rewards")[:, 0], world.data.numpy("terminated").astype(np.float32))


@pytest.mark.parametrize("rate", [0.0, 0.25, 1.0])
def test_fixes_show_the_goal_anew(rate: float) -> None:
    """As seen from the pose at the last fix, and ``since`` says how long ago that was; with 1 it is waypoint."""
    world, draws = made("point_goal", 200, episode_length=100), np.random.default_rng(2)
    number = world.data.numpy
    world["fixes"].fill_(rate)
    fixed_at, whole, fixes = np.zeros(200), np.ones(200, dtype=bool), 0
    place, angle = number("positions")[:, 0].astype(np.float64), number("angles")[:, 0].astype(np.float64)
    for step in range(1, 41):
        goal = number("goal")[:, 0].astype(np.float64)
        world["actions"][:] = torch.as_tensor(draws.integers(0, 7, number("actions").shape))
        world.step()
        whole &= ~number("terminated")
        is_new = number("fixed_at") == step
        fixes += int(is_new[whole].sum())
        place = np.where(is_new[:, None], number("positions")[:, 0], place)
        angle = np.where(is_new, number("angles")[:, 0], angle)
        fixed_at[is_new] = step
        assert np.allclose(number("observations_goal")[whole, 0], in_frame(goal - place, angle)[whole], atol=1e-4)
        assert np.allclose(number("observations_since")[whole, 0, 0], 0.02 * (step - fixed_at)[whole], atol=1e-6)
    assert whole.mean() > 0.5
    assert fixes / (40 * whole.sum()) == pytest.approx(rate, abs=0.1)


def test_a_goal_that_is_shown_once_is_seen_in_the_steps_that_point_it_out_alone() -> None:
    """Beside a world of the same course that keeps showing it, over ends of episodes too."""
    always, once = (made("point_goal", 60, shown_once=shown) for shown in (False, True))
    draws, seen = np.random.default_rng(3), []
    for world in (always, once):
        world["fixes"].fill_(0.2)
    for _ in range(60):
        vector, is_new = (always.data.numpy(f"observations_{name}")[:, 0] for name in ("goal", "since"))
        assert np.array_equal(once.data.numpy("observations_goal")[:, 0], np.where(is_new == 0.0, vector, 0.0))
        assert np.array_equal(once.data.numpy("observations_since")[:, 0], is_new)
        seen.append((is_new == 0.0).mean())
        actions = torch.as_tensor(draws.integers(0, 7, always.data.numpy("actions").shape))
        for world in (always, once):
            world["actions"][:] = actions
            world.step()
    assert seen[0] == 1.0
    assert np.mean(seen[1:]) == pytest.approx(0.2, abs=0.05)  # and episodes that begin


def test_a_goal_near_by_cannot_be_shown_once() -> None:
    with pytest.raises(DeclarationError) as error:
        packaged("point_goal", 1, **HOMES, shown_once=True)
    assert str(error.value) == "shown_once=True: expected a goal_distance beside it, such as [1, 4]"


@pytest.mark.long
@pytest.mark.parametrize("name", ["waypoint", "point_goal"])
def test_the_guide_reaches_goals_behind_walls_and_the_slide_does_not(name: str) -> None:
    def played(script: str) -> dict[str, float]:
        env = {**HOMES, "goal_distance": [1.0, 100.0], "episode_length": 256}
        settings = {"name": name, "env": env, "trainer": {"num_envs": 2, "num_steps": 8, "total_env_steps": 1000}}
        config = config_from_dict({**settings, "policy": {"walker": {"script": script}}})
        return play(config, {"walker": None}, 128, seed=1).metrics

    guided = played("guide")
    assert guided["env/reached"] > 0.97
    assert 0.9 * guided["env/reached"] < guided["env/spl"] <= guided["env/reached"]
    assert 0.3 < played("slide")["env/reached"] < 0.8


@pytest.mark.parametrize("given", [(4.0,), (4.0, 1.0), (-1.0, 2.0), (1.0, True), (1.0, "far")])
def test_an_impossible_distance_is_refused(given: Any) -> None:
    with pytest.raises(DeclarationError) as error:
        packaged("waypoint", 1, **{**HOMES, "goal_distance": given})
    assert str(error.value) == (
        f"goal_distance={given!r}: expected the least and the most metres of the shortest way to a goal, such as [1, 4]"
        ", or null for near goals as published"
    )
