"""Hide and seek without a room in a corner: drawn rooms, the open field, and whether hiders are shut in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import seldom
from tests.envs.hide_and_seek.worlds import act, make, random_actions
from warpworld import World

CELL = 0.05  # metres, of the oracle's grid


# ---- rooms -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rooms", [2, 3, 4])
def test_each_wall_has_a_door_and_ends_at_the_edge_or_at_another_wall(rooms: int) -> None:
    world = make(300, rooms=rooms)
    wall, door = world["wall"].cpu().numpy().astype(float), world["door"].cpu().numpy().astype(float)
    assert wall.shape == (300, 2 * (rooms - 1), 4) and door.shape == (300, rooms - 1, 2)
    for env in range(300):
        for number in range(rooms - 1):
            pieces, at = wall[env, 2 * number : 2 * number + 2], door[env, number]
            axis = int(pieces[0, 0] == pieces[1, 0])  # along which the wall runs
            low, high = pieces[:, axis] - pieces[:, 2 + axis], pieces[:, axis] + pieces[:, 2 + axis]
            assert (
                pieces[:, 1 - axis] == pytest.approx(at[1 - axis]) and (pieces[:, 3 - axis] == np.float32(0.05)).all()
            )
            assert low[1] - high[0] == pytest.approx(0.6, abs=1e-5) and at[axis] == pytest.approx(
                high[0] + 0.3, abs=1e-5
            )
            for end in (low[0], high[1]):
                across = [w for w in wall[env] if abs(w[axis] - end) < 1e-5 and abs(w[3 - axis]) > w[2 + axis]]
                reach = [abs(w[1 - axis] - at[1 - axis]) <= w[3 - axis] + 1e-5 for w in across]
                assert min(abs(end), abs(6.0 - end)) < 1e-5 or any(reach)  # none of them ends in a door


def test_rooms_and_ramps_differ() -> None:
    world = make(300, rooms=4, ramps=1)
    assert len(np.unique(world["wall"].cpu().numpy()[:, :, 2:], axis=0)) > 250
    assert set(world["uphill"][:, -1].tolist()) == {1, 2, 3, 4}


# ---- shut in ---------------------------------------------------------------------------------------------------------
def reaches(world: World, env: int, radius: float) -> np.ndarray:
    """(hiders, seekers) whether a disc gets from one to the other, by flooding cells of a grid, in float64."""
    place = world["position"][env].cpu().numpy().astype(float)
    count, agents = round(6.0 / CELL), world.num_agents
    x, y = (np.indices((count, count)) + 0.5) * CELL
    free = (np.minimum(x, y) > radius) & (np.maximum(x, y) < 6.0 - radius)
    shape = world["shape"].cpu().numpy().astype(float)
    boxes = np.concatenate([place[agents:], shape[agents:]], 1)
    for cx, cy, hx, hy in [*boxes, *world["wall"][env].cpu().numpy().astype(float)]:
        if hx > 0:
            free &= np.hypot(np.maximum(abs(x - cx) - hx, 0), np.maximum(abs(y - cy) - hy, 0)) > radius
    label = np.where(free, np.arange(count * count).reshape(count, count) + 1, 0)
    while True:
        padded = np.pad(label, 1)
        most = np.maximum.reduce(
            [padded[1:-1, 1:-1], padded[2:, 1:-1], padded[:-2, 1:-1], padded[1:-1, 2:], padded[1:-1, :-2]]
        )
        most = np.where(free, most, 0)
        if (most == label).all():
            break
        label = most

    def labels(p: np.ndarray) -> set[int]:
        near = np.hypot(x - p[0], y - p[1]) < 2 * CELL
        return set(label[near & free].tolist())

    found = [[bool(labels(hider) & labels(seeker)) for seeker in place[2:4]] for hider in place[:2]]
    return np.array(found)


def sheltered(world: World) -> np.ndarray:
    """(envs,) the number after a preparation in which nothing moves."""
    place, locked = world["position"].clone(), world["locked"].clone()
    for _ in range(4):
        world["position"][:], world["velocity"][:], world["locked"][:] = place, 0.0, locked
        act(world)
    assert torch.allclose(world["position"], place, atol=1e-6)
    return world["sheltered"].cpu().numpy()


FULL: list[dict[str, Any]] = [dict(rooms=0, boxes=9, long_boxes=6), dict(rooms=4, boxes=6, long_boxes=3)]
MANY_ENVS = [pytest.param(200, params, marks=[seldom, pytest.mark.slow]) for params in FULL]


@pytest.mark.parametrize(("envs", "params"), [*((8, params) for params in FULL), *MANY_ENVS], ids=str)
def test_hiders_are_sheltered_where_no_seeker_can_walk(envs: int, params: dict[str, Any]) -> None:
    """Discs of 25 mm more or less than an agent's radius bound what agents of that radius can do on a grid."""
    world = make(envs, **params, radius=0.3, door_width=0.7)
    found = sheltered(world)
    for env in range(envs):
        most, least = (1.0 - reaches(world, env, 0.3 + off).any(1).mean() for off in (0.025, -0.025))
        assert least - 1e-6 <= found[env] <= most + 1e-6
    assert 0.05 < found.mean() < 0.95


# A hider in a corner behind two boxes; the other one in the open; seekers; and a box.
CORNER = [[0.4, 0.4], [3.0, 5.0], [5.0, 5.0], [5.0, 4.0], [1.2, 0.45], [0.45, 1.2]]


@pytest.mark.parametrize(
    ("gap", "locked", "expected"), [(0.0, 1, (0.5, 0, 0)), (0.35, 1, (0.0, 0, 0)), (0.0, 0, (0.5, 0, 0))]
)
def test_a_shelter_in_a_corner_of_the_open_field(gap: float, locked: int, expected: tuple[float, ...]) -> None:
    world = make(rooms=0, boxes=2)
    world["position"][0] = torch.tensor(CORNER)
    world["position"][0, 4, 1] += gap  # an agent is 0.3 m wide, and fits past the box and the edge
    world["locked"][0, 4:] = locked
    sheltered(world)
    assert tuple(world[name].item() for name in ("sheltered", "covered", "sealed")) == expected


@pytest.mark.parametrize("locked", [0, 1, 2])
def test_hiders_are_shut_in_if_all_are_and_sealed_if_by_what_they_have_locked(locked: int) -> None:
    world = make(rooms=0, boxes=2)
    world["position"][0] = torch.tensor([CORNER[0], [0.2, 0.7], *CORNER[2:]])
    world["position"][0, 1] = torch.tensor([0.7, 0.2])
    world["locked"][0, 4:] = locked
    assert sheltered(world) == 1.0
    assert (world["covered"].item(), world["sealed"].item()) == (1.0, float(locked == 1))


def test_two_boxes_that_close_a_door_together_shelter_hiders_in_a_room() -> None:
    world = make(boxes=2, door_width=0.75, box_half=0.3)
    door = world["door"][0, 0].tolist()
    world["position"][0] = torch.tensor([[5.0, 1.5], [5.0, 2.5], [1.0, 5.0], [1.0, 4.0], [0.0, 0.0], [0.0, 0.0]])
    world["position"][0, 4] = torch.tensor([door[0] + 0.4, door[1] + 0.4])
    world["position"][0, 5] = torch.tensor([door[0] + 0.4, door[1] - 0.4 if door[1] > 0.8 else door[1] - 0.3])
    sheltered(world)
    assert (world["sheltered"].item(), world["covered"].item()) == (1.0, 0.0)


# ---- a corner --------------------------------------------------------------------------------------------------------
OPEN: dict[str, Any] = dict(rooms=0, boxes=2, long_boxes=4, ramps=1, hiders=4, seekers=3, long_half=0.88)


@pytest.mark.parametrize("away", [0.0, 0.2, 0.21, 1.0])
def test_hiders_near_a_corner_are_shut_in_unless_boxes_start_away(away: float) -> None:
    """Between the ends of both boxes is a way, away + 1 cm along x and y; an agent is 0.3 m wide."""
    world = make(200, **OPEN, near_corner=1.0, start_away=away)
    place = world["position"].cpu().numpy().astype(float)
    inside = np.minimum(place[:, :4], 6.0 - place[:, :4])  # from the nearest corner
    assert (inside > 0.15).all() and (inside < 2 * 0.88 - 0.15).all()
    corners = {tuple(corner) for corner in (place[:, 0] > 3.0).tolist()}
    assert len(corners) == 4
    off = 3.0 - np.abs(place[:, 9:11] - 3.0)  # boxes along x and y, from the nearest edges
    expected = [0.88 + 0.01, 2 * 0.88 + 0.1 + 0.02 + away]
    assert off[:, 0] == pytest.approx(np.tile(expected, (200, 1)), abs=1e-5)
    assert off[:, 1] == pytest.approx(np.tile(expected[::-1], (200, 1)), abs=1e-5)
    assert (sheltered(world) == 1.0).all() == (np.hypot(away + 0.01, away + 0.01) < 0.3)


def test_a_share_of_episodes_begins_near_a_corner() -> None:
    """Elsewhere all bodies start as without that parameter: hiders in a quarter of the arena are rare."""
    world = make(1000, **OPEN, near_corner=0.3, start_away=0.0)
    assert (sheltered(world) == 1.0).mean() == pytest.approx(0.3, abs=0.05)
    outside = make(300, **OPEN, near_corner=1.0, start_away=0.0, hiders_start_inside=False)
    assert sheltered(outside).mean() < 0.1


# ---- what agents observe ---------------------------------------------------------------------------------------------
def test_the_state_of_drawn_rooms_has_walls_and_ramps() -> None:
    world = make(5, rooms=3, ramps=1, long_boxes=1, central_critics=True)
    random = np.random.default_rng(4)
    for _ in range(2):
        world["actions"] = random_actions(world, random)
        world.step()
    state = world["state"].cpu().numpy()
    assert state.shape == (5, 6 * 4 + 6 * 3 + 2 + 2 * 2 + 4 * 4 + 2)
    ways = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])
    assert (state[:, 42:44] == ways[world["uphill"][:, -1].cpu().numpy()]).all()
    assert state[:, 48:64].reshape(5, 4, 4) == pytest.approx(world["wall"].cpu().numpy() / 6)


def test_agents_observe_sizes_of_boxes_and_where_ramps_lead() -> None:
    """Of 9 + 6 x 3 + 12 x 3 numbers, those of the long box and of the ramp come last."""
    world = make(rooms=0, long_boxes=1, ramps=1, preparation=1)
    world["position"][0] = torch.tensor([[1, 1], [1, 5], [5, 1], [5, 5], [3, 5], [1, 3], [3, 1]])
    world["uphill"][0, 6] = 3
    act(world)
    box, long, ramp = world["observations"][0, 0, 27:].view(3, 12)
    assert long[8:].tolist() == pytest.approx([0.8, 0.1, 0, 0]) and ramp[8:].tolist() == pytest.approx(
        [0.4, 0.4, 0, -1]
    )
    assert box[0] == 1 and box[8:].tolist() == pytest.approx([0.4, 0.4, 0, 0])


def test_bits_of_fields_do_not_depend_on_workers() -> None:
    found = []
    for workers in (1, 3):
        world = make(7, rooms=4, ramps=2, long_boxes=2, hiders=3, seekers=3, num_workers=workers)
        random = np.random.default_rng(6)
        for _ in range(30):
            world["actions"] = random_actions(world, random)
            world.step()
        found.append(world.snapshot())
    assert torch.equal(found[0], found[1])
