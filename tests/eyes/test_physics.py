"""Discs among walls: each piece of each path in float64, contacts by hand, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.cases import seldom
from tests.eyes.arenas import BOX, RADIUS, arena, distances, places
from tests.eyes.discs import SECONDS, STEPS_AT_A_TIME, disc_world, moved

FLIGHTS = [
    *((1, 0.0, 4.0), (1, 0.0, 100.0), (1, 1.0, 100.0), (4, 0.0, 4.0), (4, 0.5, 100.0), (4, 1.0, 100.0)),
    (12, 0.0, 20.0),
]
FLIGHT_ENVS = 64


def fly(num_agents: int, steps: int, restitution: float, fastest: float) -> dict[str, np.ndarray]:
    """What ``steps`` steps in all have come to, by array."""
    arenas, random = [arena(seed) for seed in range(FLIGHT_ENVS)], np.random.default_rng(0)
    world = disc_world(arenas, num_agents, "fly", restitution=restitution, fastest=fastest)
    world["position"][:] = torch.as_tensor(np.array([places(walls, num_agents, random) for walls in arenas]))
    for _ in range(-(-steps // (FLIGHT_ENVS * num_agents * STEPS_AT_A_TIME))):
        world.step()
    names = ("position", "velocity", "least_clearance", "least_gap", "most_energy", "touches")
    return {name: world.data.numpy(name) for name in names}


def check_flight(num_agents: int, steps: int, restitution: float, fastest: float) -> None:
    """No path crosses a wall or another disc, and no step adds energy; and there was enough to run into."""
    found = fly(num_agents, steps, restitution, fastest)
    assert np.isfinite(found["position"]).all() and np.isfinite(found["velocity"]).all()
    clearance = found["least_clearance"].min(axis=1)  # of each env; what is no number is none here
    assert clearance.min() >= RADIUS - 1e-4
    assert clearance.max() < RADIUS + 1e-3
    assert found["touches"].min() > 0
    assert found["most_energy"].max() <= 1e-5  # of it: what rounding makes of some contacts without loss
    if num_agents > 1:
        assert found["least_gap"].min() >= 2 * RADIUS - 1e-4
        assert (found["least_gap"].min(axis=1) < 2 * RADIUS + 1e-3).mean() > 0.9  # of the envs


@pytest.mark.parametrize(("num_agents", "restitution", "fastest"), FLIGHTS)
def test_no_path_crosses_a_wall(num_agents: int, restitution: float, fastest: float) -> None:
    check_flight(num_agents, 100_000, restitution, fastest)


@seldom
@pytest.mark.slow
@pytest.mark.parametrize(("num_agents", "restitution", "fastest"), FLIGHTS)
def test_no_path_crosses_a_wall_in_ten_million_steps(num_agents: int, restitution: float, fastest: float) -> None:
    check_flight(num_agents, 1_500_000, restitution, fastest)


def test_head_on_a_disc_stops_at_its_radius() -> None:
    """The published vector: the reference's disc stops short by 1 % of its way to the wall, at 5.8649."""
    after = moved([BOX], [[[3.0, 3.0]]], [[[1000.0, 0.0]]])
    contact = 6.0 - RADIUS
    assert after["position"][0, 0] == pytest.approx([contact, 3.0], abs=3e-5)
    assert abs(after["position"][0, 0, 0] - 5.8649) <= 0.01 * (contact - 3.0) + 1e-3
    assert after["touched"].all() and not after["velocity"].any()


def test_a_disc_slides_along_a_wall() -> None:
    after = moved([BOX], [[[3.0, 5.0]]], [[[6.0, 20.0]]])
    assert after["position"][0, 0] == pytest.approx([3.6, 6.0 - RADIUS], abs=3e-5)
    assert after["velocity"][0, 0] == pytest.approx([6.0, 0.0], abs=1e-5)


def test_a_disc_rebounds() -> None:
    after = moved([BOX], [[[5.0, 3.0]]], [[[12.0, 1.0]]], restitution=0.5)
    to_wall = 1.0 - RADIUS
    assert after["position"][0, 0] == pytest.approx([6.0 - RADIUS - 0.5 * (1.2 - to_wall), 3.1], abs=5e-5)
    assert after["velocity"][0, 0] == pytest.approx([-6.0, 1.0], abs=1e-5)


def test_a_still_disc_takes_the_motion_of_one_that_rebounds_from_it() -> None:
    after = moved([BOX], [[[3.0, 3.0], [4.0, 3.0]]], [[[10.0, 0.0], [0.0, 0.0]]], restitution=1.0)
    assert after["velocity"][0] == pytest.approx(np.array([[0.0, 0.0], [10.0, 0.0]]), abs=1e-4)
    assert after["position"][0] == pytest.approx(np.array([[4 - 2 * RADIUS, 3], [4 + 2 * RADIUS, 3]]), abs=1e-4)


def test_discs_that_meet_without_restitution_go_on_together() -> None:
    after = moved([BOX], [[[2.0, 3.0], [2.5, 3.0]]], [[[10.0, 0.0], [0.0, 0.0]]])
    assert after["velocity"][0] == pytest.approx(np.array([[5.0, 0.0], [5.0, 0.0]]), abs=1e-4)
    way = 0.5 - 2 * RADIUS
    second = 2.5 + 5.0 * (SECONDS - way / 10.0)
    assert after["position"][0, :, 0] == pytest.approx([second - 2 * RADIUS, second], abs=1e-4)


def test_a_glancing_blow_keeps_momentum_and_turns_nobody_aside() -> None:
    starts = [[[2.0, 3.0], [2.5, 3.1]]]
    after = moved([BOX], starts, [[[10.0, 0.0], [0.0, 2.0]]], restitution=0.25)
    assert after["velocity"][0].sum(0) == pytest.approx([10.0, 2.0], abs=1e-4)
    given = after["velocity"][0, 1] - [0.0, 2.0]  # along the line between the centres at contact
    normal = given / np.linalg.norm(given)
    approach = np.array([10.0, -2.0]) @ normal
    parting = (after["velocity"][0, 1] - after["velocity"][0, 0]) @ normal
    assert parting == pytest.approx(0.25 * approach, abs=1e-3)


def test_a_disc_in_an_acute_corner_comes_to_rest() -> None:
    wedge = np.array([(1.0, 1.0, 4.0, 2.0), (1.0, 1.0, 4.0, 0.0)])
    after = moved([wedge], [[[3.0, 1.0]]], [[[-50.0, 1.0]]])
    assert not after["velocity"].any() or np.linalg.norm(after["velocity"]) < 1.0
    assert after["clearance"][0, 0] >= RADIUS - 1e-5
    assert after["position"][0, 0, 0] == pytest.approx(1.0 + RADIUS / np.sin(np.arctan(1 / 3)), abs=1e-3)


def test_overlaps_are_pushed_out() -> None:
    """A disc that was put into a wall, and two that were put into each other."""
    starts = [[[1.05, 3.0], [4.0, 4.0], [4.05, 4.0]]]
    after = moved([BOX], starts, np.zeros((1, 3, 2)))
    assert distances(BOX, after["position"][0].astype(np.float64)).min() >= RADIUS - 1e-6
    assert np.linalg.norm(after["position"][0, 1] - after["position"][0, 2]) >= 2 * RADIUS - 1e-6
    assert not after["velocity"].any()


def first_touch(walls: np.ndarray, start: np.ndarray, velocity: np.ndarray, radius: float) -> float:
    """When a disc that flies straight on first touches a wall, by halving; SECONDS if it does not."""

    def clearance(times: np.ndarray) -> np.ndarray:
        return distances(walls, start + times[:, None] * velocity).min(-1)

    times, part = np.linspace(0.0, SECONDS, 2001), 50
    within_reach = radius + np.linalg.norm(velocity) * times[part]  # of a wall, where a part of the flight begins
    for first in part * np.flatnonzero(clearance(times[:-1:part]) <= within_reach + 1e-9):
        touching = clearance(times[first : first + part + 1]) <= radius
        if touching.any():
            break
    else:
        return SECONDS
    last = first + int(np.argmax(touching))
    low, high = times[max(last - 1, 0)], times[last]
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if clearance(np.array([middle]))[0] > radius else (low, middle)
    return low


@pytest.mark.heavy
def test_first_contacts_are_where_float64_has_them() -> None:
    """1,600 flights end between where discs 0.05 mm larger and 0.01 mm smaller do, but for those that only graze."""
    arenas, random = [arena(seed) for seed in range(64)], np.random.default_rng(3)
    compared = 0
    for _ in range(25):
        starts = np.stack([places(walls, 1, random) for walls in arenas]).astype(np.float32)
        angle, way = random.uniform(0.0, 2.0 * np.pi, 64), random.uniform(0.01, 3.0, 64)
        velocity = (way / SECONDS * np.stack([np.cos(angle), np.sin(angle)])).T.astype(np.float32)
        after = moved(arenas, starts, velocity[:, None])
        for env, walls in enumerate(arenas):
            start, speed = starts[env, 0].astype(np.float64), velocity[env].astype(np.float64)
            early, late = (first_touch(walls, start, speed, RADIUS + more) for more in (5e-5, -1e-5))
            if (early == SECONDS) != (late == SECONDS):
                continue
            compared += 1
            metres_a_second = np.linalg.norm(speed)
            flown = (after["first_stop"][env, 0] - start) @ speed / metres_a_second
            assert np.allclose(after["first_stop"][env, 0], start + flown * speed / metres_a_second, atol=1e-5)
            assert early * metres_a_second - 1e-5 <= flown <= late * metres_a_second + 1e-5
    assert compared > 1550


def turn(degrees: float) -> np.ndarray:
    """As a matrix."""
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[cosine, -sine], [sine, cosine]])


MIRROR = np.array([[-1.0, 0.0], [0.0, 1.0]])
CHANGES = {
    **{f"turned by {degrees}": turn(degrees) for degrees in (17, 45, 90, 133, 180, 251)},
    **{f"mirrored, turned by {degrees}": MIRROR @ turn(degrees) for degrees in (0, 30, 90)},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_turned_and_mirrored_worlds_move_alike(change: np.ndarray) -> None:
    """To 0.2 mm and 2 cm/s: what float32 rounds at places of 6 m, and contacts at ends and discs make of it."""
    arenas, random = [arena(seed) for seed in range(64)], np.random.default_rng(5)
    middle = np.array([3.5, 3.5])

    def turned(points: np.ndarray) -> np.ndarray:
        return (points - middle) @ change.T + middle

    starts = np.stack([places(walls, 3, random) for walls in arenas])
    velocity = random.normal(0.0, 2.0, starts.shape)
    plain = moved(arenas, starts, velocity)
    others = moved([turned(w.reshape(-1, 2)).reshape(-1, 4) for w in arenas], turned(starts), velocity @ change.T)
    assert plain["touched"].sum() > 20
    assert np.array_equal(plain["touched"], others["touched"])
    assert np.allclose(turned(plain["position"]), others["position"], atol=2e-4)
    assert np.allclose(plain["velocity"] @ change.T, others["velocity"], atol=2e-2)


def test_agents_in_any_order_move_alike() -> None:
    arenas, random = [arena(seed) for seed in range(32)], np.random.default_rng(7)
    starts = np.stack([places(walls, 5, random) for walls in arenas])
    velocity = random.normal(0.0, 3.0, starts.shape)
    order = np.array([3, 0, 4, 1, 2])
    plain, others = moved(arenas, starts, velocity), moved(arenas, starts[:, order], velocity[:, order])
    assert np.allclose(plain["position"][:, order], others["position"], atol=2e-4)
    assert np.allclose(plain["velocity"][:, order], others["velocity"], atol=2e-2)
