"""Deathmatch's lives: where they begin, what ends with them, and what episodes end with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.deathmatch.fights import BOX, FOUR, HOMES, act, face_off, made, place, random_step
from tests.eyes.arenas import RADIUS, distances
from warpworld import World
from warpworld.trainers.algorithms.targets.gae import gae


def rooms_of(world: World, env: int) -> np.ndarray:
    """The room of each agent, -1 where it is in no spawn cell of its env's plan."""
    plans, plan = world.environment.params.plan_set, int(world.data.numpy("plan")[env])
    rooms = range(*plans["plan_first_room"][plan : plan + 2])
    bounds = [plans["room_first_cell"][room : room + 2] for room in rooms]
    found = []
    for position in world.data.numpy("positions")[env]:
        near = [(np.abs(plans["plan_cells"][a:b] - position) <= 0.1001).all(1).any() for a, b in bounds]
        found.append(int(np.argmax(near)) if any(near) else -1)
    return np.array(found)


@pytest.mark.parametrize("near", [0.0, 1.0])
def test_agents_wake_up_apart_and_clear_of_walls(near: float) -> None:
    """10,000 of them."""
    world = made(2500, near, **HOMES, **FOUR)
    number, plans = world.data.numpy, world.environment.params.plan_set
    positions = number("positions").astype(np.float64)
    between = np.linalg.norm(positions[:, :, None] - positions[:, None], axis=-1) + 9.0 * np.eye(4)
    assert between.min() > 2.0 * RADIUS
    assert (between.min((1, 2)) > 6.0 * RADIUS).mean() > 0.95
    for plan in range(3):
        first, end = plans["plan_first_wall"][plan : plan + 2]
        here = number("plan") == plan
        assert here.sum() > 600
        assert distances(plans["plan_walls"][first:end].astype(np.float64), positions[here]).min() > RADIUS
    rooms = np.array([rooms_of(world, env) for env in range(0, 2500, 5)])
    assert (rooms >= 0).all()
    same = (rooms == rooms[:, :1]).all(1)
    assert same.mean() > 0.98 if near else same.mean() < 0.5  # a room may have no place for four
    headings = np.sort(number("angles").ravel())
    assert headings == pytest.approx(np.linspace(-180.0, 180.0, 10_000), abs=10.0)
    assert np.array_equal(number("together"), np.full(2500, bool(near)))


def test_a_share_of_episodes_begins_in_one_room() -> None:
    world = made(4000, 0.25, **BOX)
    assert world.data.numpy("together").mean() == pytest.approx(0.25, abs=0.03)
    place(world, [[2.0, 3.5], [4.0, 3.5]], [0.0, 0.0])
    world["near_spawn"].fill_(1.0)
    act(world)  # what has been drawn holds for the whole episode
    assert world.data.numpy("together").mean() == pytest.approx(0.25, abs=0.03)


def kill(world: World) -> None:
    """Agent 0 kills agent 1 in every env, if it can."""
    number = world.data.numpy
    target = number("positions")[:, 1] - number("positions")[:, 0]
    world["angles"][:, 0] = torch.as_tensor(np.degrees(np.arctan2(target[:, 1], target[:, 0])))
    world["health"][:, 1] = 0.25
    act(world, fire=[1, 0])


@pytest.mark.parametrize("near", [0.0, 1.0])
def test_who_dies_wakes_up_anywhere_or_near_the_killer(near: float) -> None:
    world = made(600, near, **HOMES, fire_range=100.0)
    number = world.data.numpy
    seen = number("in_sight")[:, 0, 1].copy()
    kill(world)
    assert np.array_equal(number("agent_terminated"), np.stack([np.zeros(600, bool), seen], 1))
    assert np.array_equal(number("deaths")[:, 1], seen)
    assert seen.sum() > 100
    rooms = np.array([rooms_of(world, env) for env in np.flatnonzero(seen)])
    assert (rooms[:, 1] >= 0).all()
    same = (rooms[:, 0] == rooms[:, 1]).mean()
    assert same > 0.98 if near else same < 0.7
    positions = number("positions")[seen].astype(np.float64)
    assert np.linalg.norm(positions[:, 0] - positions[:, 1], axis=1).min() > 2.0 * RADIUS
    assert (number("velocity")[seen, 1] == 0.0).all() and (number("angvelocity")[seen, 1] == 0.0).all()
    assert (number("observations_imu")[seen, 1] == 0.0).all()
    assert (number("observations_health")[seen, 1] == 1.0).all()
    assert (number("observations_cooldown")[seen, 1] == 0.0).all()
    assert (number("cooling")[seen, 1] == 0).all()


def test_the_dead_body_s_action_does_not_move_the_new_one() -> None:
    """Whatever it did in the step in which it died; and what is seen is seen from the new place."""
    worlds = []
    for move, turn, fire in ((0, 0, 0), (3, 1, 1), (1, 2, 0)):
        world = face_off(100)
        world["health"][:, 1] = 0.25
        act(world, move=[[0, move]], turn=[[0, turn]], fire=[[1, fire]])
        assert world.data.numpy("agent_terminated")[:, 1].all()
        worlds.append(world)
    for name in ("positions", "angles", "velocity", "angvelocity", "cooling", "observations_rgb", "observations_depth"):
        first = worlds[0].data.numpy(name)[:, 1]
        assert all(np.array_equal(first, world.data.numpy(name)[:, 1]) for world in worlds), name
    depth = worlds[0].data.numpy("observations_depth")[:, 1]
    assert len(np.unique(depth, axis=0)) == 100


def test_no_return_of_a_life_takes_in_rewards_of_the_next() -> None:
    """Through generalised advantage estimation, on what a world has recorded."""
    world, draws = made(30, 1.0, **BOX, fire_cone=40.0, cooldown=1, kills_to_win=0), np.random.default_rng(0)
    rows: dict[str, list[torch.Tensor]] = {
        name: [] for name in ("rewards", "terminated", "truncated", "agent_terminated")
    }
    for _ in range(80):
        random_step(world, draws)
        for name, row in rows.items():
            row.append(world[name].cpu().clone())
    recorded = {name: torch.stack(row) for name, row in rows.items()}
    died = recorded["agent_terminated"]
    assert died.sum() > 60
    values = torch.zeros(80, 30, 2)
    rest = dict(next_value=torch.zeros(30, 2), truncated_values=values, gamma=0.99, gae_lambda=0.95)
    advantages, _ = gae(values=values, **recorded, **rest)
    later = died.cumsum(0) - died.int() > 0  # after an agent's first death
    changed = dict(recorded, rewards=recorded["rewards"] + 100.0 * later)
    assert torch.equal(gae(values=values, **changed, **rest)[0][~later], advantages[~later])
    first = died & ~later
    assert torch.equal(advantages[first], recorded["rewards"][first])
    assert (recorded["rewards"][first] <= 0.0).sum() > 20


def test_kills_to_win_end_an_episode() -> None:
    world = face_off(2, cooldown=1, kills_to_win=2)
    number = world.data.numpy
    world["health"][:] = torch.as_tensor([[1.0, 0.25], [1.0, 1.0]])
    act(world, fire=[1, 0])
    assert number("kills")[:, 0].tolist() == [1, 0]
    assert not number("terminated").any()
    world["kills"][1, 1] = 1  # the other one wins
    place(world, [[2.0, 3.5], [4.0, 3.5]], [0.0, -180.0])
    world["health"][1] = 0.25
    act(world)
    act(world, fire=[0, 1])
    assert number("terminated").tolist() == [False, True]
    assert number("kills").tolist() == [[1, 0], [0, 0]]  # a new episode has begun
    assert number("rewards")[1].tolist() == [-1.25, 1.25]


def test_time_limits_truncate() -> None:
    world = made(3, **BOX, episode_length=7)
    truncated = []
    for _ in range(14):
        act(world)
        truncated.append(bool(world.data.numpy("truncated").all()))
        assert not world.data.numpy("terminated").any()
    assert truncated == [step % 7 == 0 for step in range(1, 15)]


def potentials(world: World) -> np.ndarray:
    """By the published formula, in float64: (num_envs, agents)."""
    number, half_fov = world.data.numpy, world.environment.params.fov / 2.0
    positions, angles = number("positions").astype(np.float64), number("angles").astype(np.float64)
    offset = positions[:, None] - positions[:, :, None]
    bearing = np.degrees(np.arctan2(offset[..., 1], offset[..., 0]))
    off = np.abs((bearing - angles[..., None] + 180.0) % 360.0 - 180.0)
    in_view = number("in_sight") & (off <= half_fov)
    return np.where(in_view, 0.5 + 0.5 * np.exp(-off / 15.0), 0.0).max(-1)


@pytest.mark.long
def test_shaping_adds_what_a_potential_gains() -> None:
    """gamma times the potential after, which a death or a win makes 0, minus that before."""
    params: dict[str, Any] = dict(BOX, **FOUR, fire_cone=20.0, cooldown=1, kills_to_win=2)
    world, plain, draws = made(60, **params), made(60, **params), np.random.default_rng(0)
    world["shaping"].fill_(0.5)
    deaths = wins = 0
    for _ in range(80):
        before = potentials(world)
        shape = world.data.numpy("kills").shape
        actions = draws.integers(0, 5, shape), draws.integers(0, 5, shape), draws.integers(0, 2, shape)
        act(world, *actions)
        act(plain, *actions)
        died, won = world.data.numpy("agent_terminated"), world.data.numpy("terminated")
        after = np.where(died | won[:, None], 0.0, potentials(world))
        assert np.array_equal(world.data.numpy("positions"), plain.data.numpy("positions"))
        shaped = world.data.numpy("rewards") - plain.data.numpy("rewards")
        assert shaped == pytest.approx(0.5 * (0.99 * after - before), abs=1e-5)
        deaths += int(died.sum())
        wins += int(won.sum())
    assert deaths > 50
    assert wins > 20
