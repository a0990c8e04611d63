"""Ramps: climbers get on top of walls and boxes, and down again, by the rules and within their bounds."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.cases import seldom
from tests.eyes.bodies_oracle import SKIN, Oracle
from tests.eyes.body_worlds import RULES, STEPS_AT_A_TIME, Scene, body_world

LEFT, RIGHT, UP = 1, 2, 4
DISC, RAMP, BOX = (0.15, 0.0), (0.4, 0.4), (0.4, 0.4)
NAMES = ("position", "velocity", "shape", "mass", "held", "locked", "level", "uphill", "walls", "corners")


def runway(uphill: int = RIGHT, **changes: object) -> Scene:
    """A climber to the left of a ramp, then a wall across the arena, of 0.2 m."""
    position = [(0.8, 3.0), (1.6, 3.0), (5.0, 5.0)]
    given = dict(position=position, shape=[DISC, RAMP, BOX], mass=[1.0, 1e4, 1e4], uphill=[0, uphill, 0])
    return Scene(**{**given, "walls": [(2.15, 3.0, 0.1, 3.0)], **changes})  # type: ignore[arg-type]


def run(scene: Scene, steps: int, held: bool = False) -> tuple[list[float], list[int]]:
    """Where a climber is along x, and on which level, that runs to the right by 2 m/s."""
    world = body_world([scene], climbers=1)
    at: list[float] = []
    levels: list[int] = []
    for _ in range(steps):
        world["velocity"][0, 0] = torch.tensor([2.0, 0.0])
        if held:
            world["held"][0, 0] = 2
        world.step()
        at.append(float(world["position"][0, 0, 0]))
        levels.append(int(world["level"][0, 0]))
    return at, levels


def test_a_climber_gets_over_a_wall_by_the_low_side_of_a_ramp() -> None:
    at, levels = run(runway(), 12)
    assert levels[0] == 0 and at[-1] == pytest.approx(0.8 + 12 * 0.2, abs=1e-5)  # nothing has slowed it down
    raised = [x for x, level in zip(at, levels, strict=True) if level]
    assert 1.05 < min(raised) < 1.26 and 2.25 < max(raised) < 2.41  # from the ramp's edge until it is off the wall
    assert levels[-1] == 0


@pytest.mark.parametrize("uphill", [0, LEFT, UP])
def test_a_ramp_stops_at_its_other_sides_as_a_box_does(uphill: int) -> None:
    at, levels = run(runway(uphill), 12)
    assert at[-1] == pytest.approx(1.2 - 0.15, abs=0.01) and not any(levels)


def test_a_climber_beside_the_ramp_or_with_something_in_its_hands_does_not_climb() -> None:
    beside = runway(position=[(0.8, 3.45), (1.6, 3.0), (5.0, 5.0)])
    assert not any(run(beside, 6)[1])  # it slides around the corner
    near = runway(position=[(0.8, 3.0), (1.6, 3.0), (0.8, 3.6)], mass=[1.0, 1e4, 0.01])
    assert not any(run(near, 6, held=True)[1])
    assert any(run(near, 6)[1])


def test_climbers_stop_each_other_on_both_levels_and_the_edge_stops_them() -> None:
    position = [(1.5, 3.0), (0.8, 3.0), (1.6, 3.0)]
    scene = Scene(position, [DISC, DISC, RAMP], uphill=[0, 0, RIGHT], mass=[1e4, 1.0, 1e4])
    world = body_world([scene], climbers=2)
    world["level"][0, 0] = 1
    for _ in range(6):
        world["velocity"][0] = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
        world.step()
    assert world["position"][0, 1, 0].item() == pytest.approx(1.2, abs=1e-3)
    high = Scene([(5.6, 3.0), (5.6, 3.0)], [DISC, BOX], uphill=[0, 0])
    world = body_world([high], climbers=1)
    world["level"][0, 0] = 1
    world["velocity"][0, 0, 0] = 50.0
    world.step()
    assert world["position"][0, 0, 0].item() == pytest.approx(5.85 - SKIN, abs=1e-5)


def test_a_climber_rides_on_a_box_that_it_holds() -> None:
    """As the seekers of Baker et al. surf on boxes."""
    scene = Scene([(3.0, 3.0), (3.0, 3.0)], [DISC, BOX], uphill=[0, 0])
    world = body_world([scene], climbers=1)
    world["level"][0, 0] = 1
    world["held"][0, 0] = 1
    for _ in range(10):
        world["force"][0, 0, 0] = 2.0
        world.step()
    x = world["position"][0, :, 0].tolist()
    assert x[0] == pytest.approx(x[1], abs=1e-5) and x[0] > 3.5 and world["level"][0, 0].item() == 1


def test_a_climber_lands_where_a_box_is_pulled_away_from_below() -> None:
    scene = Scene([(3.0, 3.0), (3.0, 3.0)], [DISC, BOX], uphill=[0, 0])
    world = body_world([scene], climbers=1)
    world["level"][0, 0] = 1
    world["velocity"][0, 1, 0] = 2.0
    levels = []
    for _ in range(4):
        world.step()
        levels.append(world["level"][0, 0].item())
    assert levels == [1, 1, 0, 0]


# ---- bounds and an oracle --------------------------------------------------------------------------------------------
def ramp_scenes(seed: int, envs: int) -> list[Scene]:
    """Two climbers, two boxes and two ramps in a tight arena with a wall."""
    random, scenes = np.random.default_rng(seed), []
    for _ in range(envs):
        cells = random.permutation(9)[:6]
        position = np.stack([cells % 3, cells // 3], 1) * 1.1 + 0.55 + random.uniform(-0.1, 0.1, (6, 2))
        shape = [(0.15, 0.0), (0.2, 0.0), (0.35, 0.3), (0.3, 0.1), (0.35, 0.35), (0.3, 0.4)]
        uphill = [0, 0, 0, 0, *random.integers(1, 5, 2)]
        mass = random.choice([0.3, 1.0, 5.0], 6)
        scenes.append(Scene(position, shape, mass, [(1.1, 1.65, 0.03, 0.3)], ((0, 0), (3.3, 3.3)), -100.0, uphill))
    return scenes


LONG = pytest.param(1_000_000, marks=[seldom, pytest.mark.slow])


@pytest.mark.parametrize("env_steps", [20_000, LONG])
def test_nothing_overlaps_on_the_ground(env_steps: int) -> None:
    world = body_world(ramp_scenes(1, 50), "fly", climbers=2, fastest=5.0)
    for _ in range(env_steps // (50 * STEPS_AT_A_TIME)):
        world.step()
    assert world.data.numpy("least_gap").min() > 0.1 * SKIN
    assert world.data.numpy("most_energy").max() < 1e-5 and not world["moved_locks"].any()
    assert (world["raised"] > 0).all() and world["raised"].sum() > 200 and world["landed"].sum() > 200


def check_oracle(seed: int, steps: int, envs: int) -> None:
    """Compare steps with the oracle's.

    Where several bodies meet at the same moment, rounding decides whose contact is first, and with it the velocities:
    one env step in a hundred may be another one than in float64.
    """
    rules = {**RULES, "drag": 1.0, "climbers": 2}
    world, random = body_world(ramp_scenes(seed, envs), **rules), np.random.default_rng(seed)  # type: ignore[arg-type]
    raised = landed = others = 0
    for step in range(steps):
        world["force"][:] = torch.as_tensor(random.uniform(-30, 30, world["force"].shape))
        for env in range(envs):
            holder, other = random.choice(6, 2, replace=False)
            if random.random() < 0.3 and not (world["held"][env] == int(other)).any():
                world["held"][env, int(holder)] = int(other)
        oracle = Oracle({name: world.data.numpy(name).copy() for name in NAMES}, rules)
        before = world["level"].clone()
        world.step()
        oracle.step(world.data.numpy("force").astype(float), step + 1)
        off = (np.abs(world.data.numpy("position") - oracle.x) >= 2e-5).any((1, 2))
        off |= (np.abs(world.data.numpy("velocity") - oracle.v) >= 2e-4).any((1, 2))
        others += int((off | (world.data.numpy("level") != oracle.level).any(1)).sum())
        raised += int((world["level"] > before).sum())
        landed += int((world["level"] < before).sum())
    assert others <= 0.01 * steps * envs
    assert raised > 3 and landed > 3


def test_steps_are_those_of_the_oracle() -> None:
    check_oracle(3, 12, 30)


@pytest.mark.slow
def test_many_steps_are_those_of_the_oracle() -> None:
    check_oracle(4, 60, 60)
