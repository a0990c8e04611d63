"""Bodies that push each other: bounds over many steps, an oracle in float64, and contacts by hand."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch

from tests.cases import seldom
from tests.eyes.bodies_oracle import SKIN, Oracle
from tests.eyes.body_worlds import RULES, STEPS_AT_A_TIME, Scene, body_world, moved, random_scenes

ENVS = 50
DISC, BOX = (0.2, 0.0), (0.4, 0.4)


def check_flight(env_steps: int, restitution: float) -> None:
    world = body_world(random_scenes(1, ENVS), "fly", restitution=restitution)
    for _ in range(env_steps // (ENVS * STEPS_AT_A_TIME)):
        world.step()
    found = {name: world.data.numpy(name) for name in ("least_gap", "most_energy", "most_momentum")}
    assert found["least_gap"].min() > 0.1 * SKIN
    assert found["least_gap"].max() < 2 * SKIN  # all envs have had contacts
    assert found["most_energy"].max() < 1e-5  # of it: what rounding makes of contacts without loss
    assert found["most_momentum"].max() < 1e-5
    assert not world["crossings"][1::2].any() and not world["moved_locks"].any()
    assert np.isfinite(world.data.numpy("velocity")).all()
    if restitution == 0.0:
        assert world["touches"].sum() > 20 and world["broken"].sum() > 100


LONG = [pytest.param(1_000_000, restitution, marks=[seldom, pytest.mark.slow]) for restitution in (0.0, 0.5, 1.0)]


@pytest.mark.parametrize(("env_steps", "restitution"), [(20_000, 0.0), (20_000, 1.0), *LONG])
def test_no_body_overlaps_another_or_a_wall_and_nothing_gains_energy(env_steps: int, restitution: float) -> None:
    check_flight(env_steps, restitution)


def check_oracle(seed: int, steps: int, envs: int) -> None:
    scenes = random_scenes(seed, envs)
    rules = {**RULES, "drag": 1.0}
    world, random = body_world(scenes, **rules), np.random.default_rng(seed)
    names = ("position", "velocity", "shape", "mass", "held", "locked", "level", "uphill", "walls", "corners")
    breaks = 0
    for step in range(steps):
        world["force"][:] = torch.as_tensor(random.uniform(-60, 60, world["force"].shape))
        for env in range(envs):
            holder, other = random.choice(6, 2, replace=False)
            if not (world["held"][env] == int(other)).any():
                world["held"][env, int(holder)] = int(other)
        world["locked"][:] = torch.as_tensor((random.random((envs, 6)) < 0.05).astype(np.int32))
        world["velocity"][world["locked"] != 0] = 0.0
        oracle = Oracle({name: world.data.numpy(name).copy() for name in names}, rules)
        world.step()
        oracle.step(world.data.numpy("force").astype(float), step + 1)
        after = world.data.numpy("position")
        assert np.abs(after - oracle.x).max() < 2e-5
        assert np.abs(world.data.numpy("velocity") - oracle.v).max() < 2e-4
        assert (world.data.numpy("held") == oracle.held).all()
        breaks += int(world["broken"].sum())
    assert breaks > 0


def test_a_step_is_that_of_the_oracle() -> None:
    check_oracle(3, 2, 40)


@pytest.mark.slow
def test_many_steps_are_those_of_the_oracle() -> None:
    check_oracle(4, 40, 60)


def digest(workers: int) -> str:
    world = body_world(random_scenes(2, 12), "fly", num_workers=workers)
    world.step()
    parts = [world.data.numpy(name).tobytes() for name in ("position", "velocity", "held", "locked")]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def test_bits_do_not_depend_on_workers() -> None:
    assert len({digest(workers) for workers in (1, 2, 3)}) == 1


def test_a_disc_stops_at_a_wall_and_slides_along_it() -> None:
    scene = Scene([[3.0, 3.0]], [DISC], walls=[(4.0, 3.0, 0.1, 3.0)])
    world = moved(scene, [[[100.0, 5.0]]])
    assert world["position"][0, 0].tolist() == pytest.approx([3.7 - SKIN, 3.5], abs=1e-6)
    assert world["velocity"][0, 0].tolist() == pytest.approx([0.0, 5.0])


def test_a_disc_that_meets_a_corner_slides_around_it() -> None:
    """It had stopped there in the prototype of this header."""
    scene = Scene([[3.0, 3.25]], [DISC], walls=[(4.0, 2.75, 0.4, 0.35)])  # whose upper corner is at 3.6, 3.1
    world = body_world([scene], drag=10.0)
    world["force"][:, :, 0] = 20.0
    for _ in range(20):
        world.step()
    x, y = world["position"][0, 0].tolist()
    assert x > 4.5 and y > 3.1 + 0.2


def test_a_disc_off_another_one_s_middle_pushes_it_aside() -> None:
    world = moved(Scene([[2.0, 3.0], [2.6, 3.2]], [DISC, DISC]), [[[10.0, 0.0], [0.0, 0.0]]])
    velocity = world.data.numpy("velocity")[0]
    assert velocity.sum(0) == pytest.approx([10.0, 0.0], abs=1e-5)
    assert velocity[1, 1] > 1.0 and velocity[0, 1] < -1.0


def test_a_push_passes_on_through_a_chain() -> None:
    """Three boxes and a disc in line, pushed by a disc: all have its momentum between them."""
    position = [[0.5, 3.0], [1.2, 3.0], [2.1, 3.1], [3.0, 2.9], [3.7, 3.0]]
    world = moved(Scene(position, [DISC, BOX, BOX, BOX, DISC]), [[[20.0, 0.0], *[[0.0, 0.0]] * 4]], steps=3)
    velocity = world.data.numpy("velocity")[0]
    assert (velocity[:, 0] > 0.5).all()
    assert velocity[:, 0].sum() == pytest.approx(20.0, abs=1e-4)


def test_a_light_body_does_not_move_a_heavy_one_much_and_none_moves_one_of_infinite_mass() -> None:
    for mass, speed in ((9.0, 1.0), (np.inf, 0.0)):
        scene = Scene([[2.0, 3.0], [3.0, 3.0]], [DISC, BOX], mass=[1.0, mass])
        world = moved(scene, [[[10.0, 0.0], [0.0, 0.0]]])
        assert world["velocity"][0, 1].tolist() == pytest.approx([speed, 0.0], abs=1e-5)
        assert (world["position"][0, 1, 0].item() > 3.0) == (speed > 0.0)


def test_a_disc_rebounds() -> None:
    world = moved(Scene([[5.0, 3.0]], [DISC]), [[[12.0, 0.0]]], steps=2, restitution=0.5)
    assert world["velocity"][0, 0].tolist() == pytest.approx([-6.0, 0.0], abs=1e-5)


def test_who_comes_first_changes_with_the_step() -> None:
    """Two discs run into the place between them: each has it in some step."""
    first = set()
    for step in range(4):
        world = body_world([Scene([[2.0, 3.0], [3.0, 3.0]], [DISC, DISC])], substeps=1)
        for _ in range(step):
            world.step()
        world["velocity"][:] = torch.tensor([[[5.0, 0.0], [-5.0, 0.0]]])
        world.step()
        first.add(bool(world["position"][0, 0, 0] > 2.45))
    assert first == {True, False}
