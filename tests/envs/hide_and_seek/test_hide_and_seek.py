"""Hide and seek: starts, sights, what is paid and allowed, and what episodes log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.hide_and_seek.worlds import HOLD, LOCK, STILL, TINY, UNLOCK, act, make, random_actions
from tests.eyes.body_worlds import gaps, sizes
from tests.packaged import packaged
from warpworld.errors import DeclarationError

CORNER: dict[str, Any] = dict(rooms=0, near_corner=1.0, long_boxes=2)
MANY: dict[str, Any] = dict(hiders=3, seekers=3, boxes=4, doors=2, random_rooms=True, hiders_start_inside=False)
PLACES = [
    [4.5, 1.5],
    [5.5, 0.5],
    [1.0, 1.0],
    [1.0, 5.0],
    [4.0, 1.5],
]  # hiders, seekers, and a box beside the first hider


# ---- starts ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "params",
    [
        {},
        MANY,
        {**MANY, "random_rooms": False, "start_away": 0.0},
        dict(long_boxes=3, ramps=3, seekers=5, boxes_start_inside=False, boxes=2, random_rooms=True),
        dict(rooms=0, long_boxes=6, boxes=6, ramps=6, hiders=6, seekers=6, long_half=0.9),
        dict(rooms=4, long_boxes=6, boxes=6, ramps=6, hiders=6, seekers=6, long_half=0.9),
        dict(rooms=0, near_corner=1.0, long_boxes=4, boxes=9, ramps=2, hiders=4, seekers=9, start_away=0.0),
        dict(rooms=0, near_corner=0.5, long_boxes=4, boxes=9, ramps=2, hiders=4, seekers=9, long_half=0.89),
    ],
    ids=str,
)
def test_bodies_do_not_overlap_at_the_start(params: dict[str, Any]) -> None:
    world = make(500, **params)
    position, wall = world.data.numpy("position").astype(float), world.data.numpy("wall").astype(float)
    half, radius = sizes(world.data.numpy("shape").astype(float))
    wide = half + radius[:, None]
    assert (position - wide > 0).all() and (position + wide < 6.0).all()
    for i in range(len(half)):
        to_walls = gaps(position[:, i, None], half[i] + wall[..., 2:], radius[i], wall[..., :2])
        to_others = gaps(position[:, i, None], half[i] + half[:i], radius[i] + radius[:i], position[:, :i])
        assert min(to_walls.min(), to_others.min(initial=1.0)) > 0.0


def test_starts_differ_and_rooms_lie_in_all_corners() -> None:
    world = make(200, **MANY)
    room, door = world.data.numpy("room"), world.data.numpy("door")
    corners = {(x > 3.0, y > 3.0) for x, y in room[:, :2]}
    assert len(corners) == 4 and len(np.unique(room[:, 2])) > 100
    on_wall = np.abs(np.abs(door - room[:, None, :2]) - room[:, None, 2:]).min(-1)
    assert on_wall.max() < 1e-5
    assert len(np.unique(make(200)["door"].cpu().numpy()[:, 0, 1])) > 100


def test_boxes_start_as_far_from_the_door_as_is_said() -> None:
    """Cells of a quadrant are 0.98 m wide; a box is anywhere in the middle of its own."""
    for away in (0.0, 0.5, 1.0):
        world = make(300, start_away=away)
        off = (world["position"][:, 4] - world["door"][:, 0]).cpu().numpy()
        assert off[:, 0].mean() == pytest.approx(0.05 + 0.5 * 2.95 / 3 + away * 2.95 / 3, abs=0.01)
    world = make(300, near_doors=0.0)
    off = (world["position"][:, 4, 0] - world["door"][:, 0, 0]).cpu().numpy()
    assert off.min() < 0.7 and off.max() > 2.0


# ---- sight and rewards -----------------------------------------------------------------------------------------------
def lies_between(a: np.ndarray, b: np.ndarray, middle: np.ndarray, half: np.ndarray) -> bool:
    """By places along the line, some 2 mm from each other."""
    places = a + np.linspace(0, 1, 4001)[:, None] * (b - a)
    return bool((np.abs(places - middle) < half).all(-1).any())


def test_agents_see_what_no_wall_and_no_box_hides() -> None:
    """What is 2 mm larger hides whatever the kernel finds hidden, and what is 2 mm smaller hides nothing else."""
    world, random = make(4, **MANY), np.random.default_rng(0)
    for _ in range(3):
        world["actions"] = random_actions(world, random)
        world.step()
    place, wall = world.data.numpy("position").astype(float), world.data.numpy("wall").astype(float)
    found = []
    for env, agent, body in np.ndindex(4, 6, 10):
        things = [(w[:2], w[2:]) for w in wall[env]]
        things += [(place[env, box], np.full(2, 0.4)) for box in range(6, 10) if box != body]
        if body == agent:
            continue
        ends = place[env, agent], place[env, body]
        surely, maybe = (any(lies_between(*ends, at, half + more) for at, half in things) for more in (-0.002, 0.002))
        sees = bool(world["in_sight"][env, agent, body])
        assert not (sees and surely) and (sees or maybe)
        found.append(sees)
    assert 0.1 < np.mean(found) < 0.9 and not world["in_sight"][:, range(6), range(6)].any()


def test_the_teams_are_paid_by_sight_and_not_in_the_preparation() -> None:
    world = make(64)
    random, hidden = np.random.default_rng(1), np.zeros(64)
    for step in range(1, 12):
        world["actions"] = random_actions(world, random)
        world.step()
        any_seen = world["in_sight"][:, 2:, :2].flatten(1).any(1).cpu().numpy()
        pays = np.where(any_seen, -1.0, 1.0) * (step > 4)
        assert (world["rewards"].cpu().numpy() == pays[:, None] * [1, 1, -1, -1]).all()
        assert (world["agent_mask"].cpu().numpy() == [[True, True, step > 4, step > 4]]).all()
        hidden += (pays > 0) / 8
        assert world["hidden"].cpu().numpy() == pytest.approx(hidden, abs=1e-6)
    assert 0.05 < hidden.mean() < 0.95
    act(world)
    assert world["truncated"].all()


def test_seekers_do_nothing_in_the_preparation() -> None:
    world = make(4)
    start = world["position"][:, 2:4].clone()
    for step in range(1, 6):
        assert (world["action_mask"][:, 2:].sum(-1) == 4).all() == (step <= 4)  # one choice of each head
        act(world, STILL, STILL, (2, 2, 1, 1), (0, 0, 1, 1))
        assert bool((world["position"][:, 2:4] == start).all()) == (step <= 4)


# ---- boxes -----------------------------------------------------------------------------------------------------------
def test_a_box_is_held_locked_and_unlocked_by_its_own_team_alone() -> None:
    world = make(preparation=1)
    world["position"][0] = torch.tensor(PLACES)
    act(world, HOLD)
    assert world["held"][0, 0].item() == 4
    world["position"][0, 1] = torch.tensor([4.0, 0.8])
    act(world, HOLD, LOCK)
    assert world["locked"][0, 4].item() == 0  # as the first hider holds it
    act(world, LOCK)
    assert world["held"][0, 0].item() == -1 and world["locked"][0, 4].item() == 1
    world["position"][0, 2] = torch.tensor([3.4, 1.5])
    act(world, STILL, STILL, UNLOCK)
    assert world["locked"][0, 4].item() == 1
    act(world, UNLOCK)
    act(world, STILL, STILL, LOCK)
    assert world["locked"][0, 4].item() == 2
    act(world, UNLOCK)
    assert world["locked"][0, 4].item() == 2
    act(world, STILL, STILL, UNLOCK)
    assert [world[name].item() for name in ("locks", "seeker_locks", "seeker_unlocks")] == [2, 1, 1]


def test_seekers_may_be_kept_from_locking() -> None:
    for allowed in (True, False):
        world = make(preparation=1, seekers_lock=allowed)
        world["position"][0] = torch.tensor([[5.5, 0.5], [5.5, 1.0], [4.5, 1.5], [1.0, 5.0], [4.0, 1.5]])
        act(world)
        assert world["action_mask"][0, 2, 9].item() == allowed
        act(world, STILL, STILL, LOCK)
        assert world["locked"][0, 4].item() == 2 * allowed


def test_masks_allow_what_has_an_effect() -> None:
    """Whatever is forbidden changes neither joints nor locks, and whatever is allowed does."""
    world, random = make(64, **MANY, reach=0.45), np.random.default_rng(2)
    found = {(head, allowed): 0 for head in (7, 9, 10) for allowed in (True, False)}
    for step in range(11):
        mask, old = world["action_mask"].clone(), {name: world[name].clone() for name in ("held", "locked")}
        agent = step % 6  # acts alone
        actions = torch.tensor([[STILL] * 6] * 64, dtype=torch.int32)
        actions[:, :, 2] = (old["held"][:, :6] >= 0).int()  # all others keep what they hold
        choice = (7, 9, 10)[int(random.integers(3))]
        if choice == 7:
            actions[:, agent, 2] = 1
        else:
            actions[:, agent, 3] = choice - 8
        world["actions"] = actions
        world.step()
        for env in range(64):
            allowed = bool(mask[env, agent, choice])
            has_effect = bool((world["locked"][env] != old["locked"][env]).any())
            if choice == 7:
                has_effect = bool(world["held"][env, agent] >= 0) or bool(old["held"][env, agent] >= 0)
            assert has_effect == allowed
            found[choice, allowed] += 1
    assert found[7, True] > 5 and found[9, True] > 5 and found[7, False] > 5 and found[10, False] > 5


@pytest.mark.parametrize(
    ("off", "locked", "inside", "expected"),
    [
        ((0.5, 0.0), 0, True, (1, 0)),
        ((0.5, 0.0), 1, True, (1, 1)),
        ((0.5, 0.0), 2, True, (1, 0)),
        ((0.5, 0.0), 1, False, (0, 0)),
        ((0.74, 0.0), 0, True, (1, 0)),  # 0.29 m before the wall: an agent is 0.3 m wide
        ((0.76, 0.0), 0, True, (0, 0)),
        ((0.5, 0.39), 0, True, (1, 0)),  # 0.29 m beside the box
        ((0.5, 0.41), 0, True, (0, 0)),
        ((-0.5, 0.0), 1, True, (1, 1)),  # from outside
    ],
)
def test_a_box_covers_a_door_where_no_agent_fits_past_it(
    off: tuple[float, float], locked: int, inside: bool, expected: tuple[int, int]
) -> None:
    world = make()
    door = world["door"][0, 0].cpu()
    place = torch.tensor([[5.0, 2.5], [5.5, 2.5] if inside else [5.0, 5.5], [1.0, 5.0], [2.0, 5.0], [0.0, 0.0]])
    place[4] = door + torch.tensor(off)
    for _ in range(4):
        world["position"][0], world["locked"][0, 4], world["velocity"][:] = place, locked, 0.0
        act(world)
    assert (world["covered"].item(), world["sealed"].item()) == expected
    assert world["doors_open"].item() == (0 if expected[0] or not inside else 1)


# ---- observations ----------------------------------------------------------------------------------------------------
def test_what_a_seeker_observes() -> None:
    world = make(preparation=1)
    world["position"][0] = torch.tensor([[4.5, 2.0], [5.5, 0.5], [3.5, 0.55], [1.0, 5.0], [4.0, 1.5]])
    world["position"][0, 4] = torch.tensor([5.2, 2.5])
    act(world, STILL, STILL, (2, 1, 0, 0))
    seen, place, sight = (world[name][0].cpu().numpy() for name in ("observations", "position", "in_sight"))
    row, here = seen[2], place[2]
    assert row[:8] == pytest.approx(
        [*(here / 3 - 1), *(world["velocity"][0, 2].cpu().numpy() / 2), 0, 0, 1 / 12, float(sight[2, :2].any())]
    )
    for start, other in ((8, 3), (13, 0), (18, 1)):  # its own side first
        about = [1.0, *((place[other] - here) / 6), *(world["velocity"][0, other].cpu().numpy() / 2)]
        assert row[start : start + 5] == pytest.approx(np.array(about) * sight[2, other], abs=1e-6)
    assert row[23:31] == pytest.approx(np.array([1, *((place[4] - here) / 6), 0, 0, 0, 0, 0]) * sight[2, 4], abs=1e-6)
    assert row[31:] == pytest.approx((world["door"][0, 0].cpu().numpy() - here) / 6, abs=1e-6)
    assert sight[2].any() and not sight[2].all()


def test_what_a_hider_observes_of_a_box() -> None:
    world = make(preparation=1)
    world["position"][0] = torch.tensor(PLACES)
    act(world, HOLD)  # in reach, locked by the own side, by the other one, held by itself, by another agent
    assert world["observations"][0, 0, 26:31].tolist() == [1, 0, 0, 1, 0]
    assert world["observations"][0, 1, 26:31].tolist() == [0, 0, 0, 0, 1]
    act(world, LOCK)
    assert world["observations"][0, 0, 26:31].tolist() == [1, 1, 0, 0, 0]


def test_a_lidar_measures_what_is_nearest_instead_of_a_list_of_entities() -> None:
    """Rays to the east, north, west and south of a hider, behind its own 8 numbers and 2 of the door."""
    world = make(lidar_rays=4, lists_entities=False, preparation=1)
    world["position"][0] = torch.tensor([[4.0, 2.0], [4.0, 0.5], [1.0, 1.0], [3.3, 2.0], [5.0, 2.0]])
    act(world)
    rays = world["observations"][0, 0, 10:].view(4, 4)
    ways = torch.tensor([0.6, 0.95, 0.55, 1.35])  # a box, the wall, a seeker, a hider
    assert rays[:, 0].tolist() == pytest.approx((1 - ways / 6).tolist(), abs=1e-5)
    assert rays[:, 1:].tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_agents_observe_where_a_room_is_that_may_be_anywhere() -> None:
    world = make(20, random_rooms=True)
    off = world["room"][:, None, :2] - world["position"][:, :4]
    assert torch.allclose(world["observations"][..., -2:], off / 6, atol=1e-6)


def test_the_state_has_all_bodies() -> None:
    world = make(5, central_critics=True)
    random = np.random.default_rng(4)
    for _ in range(3):
        world["actions"] = random_actions(world, random)
        world.step()
    state, place = world["state"].cpu().numpy(), world["position"].cpu().numpy()
    assert state.shape == (5, 5 * 4 + 6 + 2 + 2)
    assert state[:, :20].reshape(5, 4, 5)[..., :2] == pytest.approx(place[:, :4] / 6)
    assert state[:, 20:22] == pytest.approx(place[:, 4] / 6)
    assert state[:, 26:28] == pytest.approx(world["door"][:, 0].cpu().numpy() / 6)
    assert state[:, 28:] == pytest.approx(np.full((5, 2), [0.25, 0.25]))
    assert all(group.critic_input == "state" for group in world.groups.values())


def test_bits_do_not_depend_on_workers() -> None:
    found = []
    for workers in (1, 2, 3):
        world = packaged("hide_and_seek", 10, device="cpu", seed=5, num_workers=workers, **TINY, **MANY)
        world.reset()
        random = np.random.default_rng(6)
        for _ in range(30):
            world["actions"] = random_actions(world, random)
            world.step()
        found.append(world.snapshot())
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


# ---- bad input -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"box_half": 0.6}, "bodies 1.22 m with their margin, so that they would overlap; raise side"),
        ({"door_width": 0.3}, "door_width=0.3: expected more than an agent's width, 0.3 m"),
        ({"door_width": 1.0}, "door_width=1.0: expected at most 0.788 m in an arena of side=6.0"),
        ({"hiders": 0}, "hiders=0: expected"),
        ({"boxes": 7}, "boxes=7: expected 1 to 6, as the room has 9 cells for starts"),
        ({"hiders": 9}, "hiders=9: expected 1 to 7, as the room has 9 cells for starts"),
        ({"seekers": 12, "hiders": 7, "hiders_start_inside": False}, "seekers=12: expected 1 to 11"),
        ({"radius": 0.0}, "radius=0.0: expected"),
        ({"box_half": 0.0}, "box_half=0.0: expected"),
        ({"preparation": 80}, "preparation=80: expected 1 to 79"),
        ({"rooms": 0, "random_rooms": True}, "random_rooms=True: expected with rooms=1, not rooms=0"),
        ({"rooms": 4, "door_width": 0.95}, "door_width=0.95: expected at most 0.9 m in an arena of side=6.0"),
        ({"rooms": 4, "box_half": 0.5}, "bodies 1.02 m with their margin, so that they would overlap; raise side"),
        ({"long_boxes": 4}, "long_boxes=4: expected 0 to 3 with rooms=1"),
        ({"long_boxes": 1, "long_half": 1.0}, "long_half=1.0: expected at most 0.973 m in an arena of side=6.0"),
        ({"rooms": 0, "long_boxes": 1, "long_half": 1.0}, "long_half=1.0: expected at most 0.94 m"),
        ({"long_half": 0.0}, "long_half=0.0: expected"),
        ({"ramps": 9, "seekers": 10}, "seekers=10: expected 1 to 9"),
        ({"ramps": 9, "hiders": 9, "hiders_start_inside": False}, "ramps=9: no cell is left for seekers"),
        ({"rooms": 0, "boxes": 9, "ramps": 9, "hiders": 9, "seekers": 10}, "they start in 37 cells, and there are 36"),
        ({"rooms": 5}, "rooms=5: expected"),
        ({"near_corner": 1.0}, "near_corner=1.0: expected with rooms=0, not rooms=1"),
        ({**CORNER, "long_boxes": 1}, "long_boxes=1: expected 2 to 4 with near_corner=1.0"),
        ({**CORNER, "hiders": 5}, "hiders=5: expected 1 to 4 with near_corner=1.0"),
        ({**CORNER, "long_half": 0.9}, "long_half=0.9: expected 0.32 to 0.89 m with near_corner=1.0, as hiders start"),
        ({**CORNER, "boxes": 9, "ramps": 9, "seekers": 9}, "they start in 29 cells, and there are 28"),
    ],
    ids=str,
)
def test_parameters_that_do_not_fit(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        packaged("hide_and_seek", 1, device="cpu", **params)
    assert message in str(error.value) and "\n" not in str(error.value)
