"""Warehouse by hand: who drives, what pays, and which floors are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.packaged import packaged
from warpworld import World
from warpworld.envs.warehouse.layouts import floor_of
from warpworld.errors import DeclarationError

NOTHING, FORWARD, TURN_LEFT, TURN_RIGHT, TOGGLE = range(5)
UP, DOWN, LEFT, RIGHT = range(4)
FLOOR = "......\n......\n.xx...\ng.....\n"


def placed(folder: Path, robots: list[tuple[int, int, int]], **params: Any) -> World:
    """One env on FLOOR with robots at (x, y, direction), of whose two shelves the first is asked for."""
    (folder / "floor.txt").write_text(FLOOR, encoding="utf-8")
    layout = str(folder / "floor.txt")
    world = packaged("warehouse", 1, device="cpu", layout=layout, agents=len(robots), request_queue_size=1, **params)
    world.reset()
    world["agent_at"] = 0
    for number, (x, y, direction) in enumerate(robots):
        world["cell"][0, number], world["direction"][0, number] = (y + 1) * 8 + x + 1, direction
        world["agent_at"][0, y + 1, x + 1] = number + 1
    world["requested"] = [[True, False]]
    return world


def step(world: World, *actions: int) -> list[tuple[int, int]]:
    """Cells (x, y) of the robots after a step."""
    world["actions"] = [[[action] for action in actions]]
    world.step()
    return [(cell % 8 - 1, cell // 8 - 1) for cell in world["cell"][0].tolist()]


def test_robots_turn() -> None:
    for action, order in ((TURN_RIGHT, [RIGHT, DOWN, LEFT, UP]), (TURN_LEFT, [LEFT, DOWN, RIGHT, UP])):
        world = packaged("warehouse", 1, device="cpu", agents=1)
        world.reset()
        world["direction"] = UP
        found = []
        for _ in range(4):
            world["actions"] = action
            world.step()
            found.append(world["direction"].item())
        assert found == order


def test_a_queue_drives_and_two_who_face_each_other_wait(tmp_path: Path) -> None:
    world = placed(tmp_path, [(0, 0, RIGHT), (1, 0, RIGHT), (2, 0, RIGHT), (0, 1, RIGHT), (1, 1, LEFT)])
    assert step(world, *[FORWARD] * 5) == [(1, 0), (2, 0), (3, 0), (0, 1), (1, 1)]


def test_a_circle_drives_and_who_waits_behind_it_stays(tmp_path: Path) -> None:
    world = placed(tmp_path, [(1, 0, RIGHT), (2, 0, DOWN), (2, 1, LEFT), (1, 1, UP), (0, 0, RIGHT)])
    assert step(world, *[FORWARD] * 5) == [(2, 0), (2, 1), (1, 1), (1, 0), (0, 0)]


def test_the_longer_queue_goes_first_and_then_the_lower_number(tmp_path: Path) -> None:
    world = placed(tmp_path, [(2, 0, DOWN), (1, 1, RIGHT), (0, 1, RIGHT)])
    assert step(world, *[FORWARD] * 3) == [(2, 0), (2, 1), (1, 1)]
    world = placed(tmp_path, [(3, 1, LEFT), (2, 0, DOWN), (1, 1, RIGHT)])
    assert step(world, *[FORWARD] * 3) == [(2, 1), (2, 0), (1, 1)]


def test_walls_and_robots_that_stay_stop_others(tmp_path: Path) -> None:
    world = placed(tmp_path, [(0, 0, LEFT), (3, 1, RIGHT), (4, 1, UP)])
    assert step(world, FORWARD, FORWARD, NOTHING) == [(0, 0), (3, 1), (4, 1)]


@pytest.mark.parametrize(
    ("reward", "rewards"), [("individual", [1.0, 0.0]), ("global", [1.0, 0.0]), ("two_stage", [0.5, 0.5])]
)
def test_a_delivery_and_its_way_back(tmp_path: Path, reward: str, rewards: list[float]) -> None:
    world = placed(tmp_path, [(1, 2, DOWN), (5, 0, UP)], reward=reward)
    for action in (TOGGLE, FORWARD, TURN_RIGHT):
        step(world, action, NOTHING)
    assert world["carrying"].tolist() == [[1, 0]] and world["shelf_at"][0, 3, 2].item() == 0
    assert step(world, FORWARD, NOTHING)[0] == (0, 3)
    assert world["rewards"].tolist() == [[rewards[0], rewards[0] if reward == "global" else 0.0]]
    assert world["requested"].tolist() == [[False, True]] and world["deliveries"].tolist() == [1]
    for action in (TURN_RIGHT, TURN_RIGHT, FORWARD, TURN_LEFT, TOGGLE, FORWARD):  # a corridor is no place for shelves
        step(world, action, NOTHING)
    assert world["carrying"].tolist() == [[1, 0]]
    step(world, TOGGLE, NOTHING)
    assert world["carrying"].tolist() == [[0, 0]] and world["rewards"][0, 0].item() == rewards[1]


def test_with_a_shelf_robots_drive_around_others(tmp_path: Path) -> None:
    world = placed(tmp_path, [(1, 2, RIGHT), (5, 0, UP)])
    step(world, TOGGLE, NOTHING)
    assert step(world, FORWARD, NOTHING)[0] == (1, 2)
    step(world, TOGGLE, NOTHING)
    assert step(world, FORWARD, NOTHING)[0] == (2, 2)


def test_with_a_shelf_robots_follow_only_those_who_take_theirs_along(tmp_path: Path) -> None:
    world = placed(tmp_path, [(1, 2, RIGHT), (2, 2, RIGHT)])
    step(world, TOGGLE, NOTHING)
    assert step(world, FORWARD, FORWARD) == [(1, 2), (3, 2)]
    world = placed(tmp_path, [(1, 2, RIGHT), (2, 2, RIGHT)])
    step(world, TOGGLE, TOGGLE)
    assert step(world, FORWARD, FORWARD) == [(2, 2), (3, 2)]


def test_an_episode_ends_without_deliveries() -> None:
    world = packaged("warehouse", 1, device="cpu", max_inactivity_steps=3)
    world.reset()
    ends = []
    for _ in range(3):
        world["actions"] = NOTHING
        world.step()
        ends.append((world["terminated"].item(), world["truncated"].item()))
    assert ends == [(False, False), (False, False), (True, False)]


def test_named_floors_have_the_sizes_of_the_original() -> None:
    sizes = {name: floor_of(name, 8).cells.shape for name in ("tiny", "small", "medium", "large")}
    assert sizes == {"tiny": (11, 10), "small": (20, 10), "medium": (20, 16), "large": (29, 16)}
    rware = pytest.importorskip("rware.warehouse", reason="rware is not installed; make peers")
    for rows, columns, name in ((1, 3, "tiny"), (2, 3, "small"), (2, 5, "medium"), (3, 5, "large")):
        for height in (1, 3, 8):
            original = rware.Warehouse(columns, height, rows, 1, 0, 1, 1, None, None, rware.RewardType.GLOBAL)
            floor = floor_of(name, height)
            np.testing.assert_array_equal(floor.cells == 2, original.highways > 0)
            assert floor.goals[:, ::-1].tolist() == [list(goal) for goal in original.goals]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("..x\n.g?\n", ":2: cell 3 is '?', expected X, . or G"),
        ("..x\n\n.g\n", ":3: 2 cells, expected 3 as in line 1"),
        ("..x\n.x.\n", ": no goal, expected G in at least one cell"),
        ("..g\n...\n", ": no shelf, expected X in at least one cell"),
        ("\n", ": the file is empty, expected a line of X, . or G for each row"),
    ],
)
def test_files_that_draw_no_floor_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "floor.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DeclarationError) as error:
        packaged("warehouse", 1, device="cpu", layout=str(path))
    assert str(error.value) == f"{path}{message}"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            dict(layout="tny"),
            "layout='tny': expected tiny, small, medium, large, or the path of a text file. Did you mean 'tiny'?",
        ),
        (dict(layout="no/floor.txt"), "layout='no/floor.txt': the file cannot be read: No such file or directory"),
        (dict(agents=56), "agents=56: expected 1 to 55"),
        (dict(request_queue_size=32), "request_queue_size=32: expected 1 to 31"),
        (dict(sensor_range=0), "sensor_range=0: expected 1 to 10"),
        (dict(column_height=0), "column_height=0: expected 1 to 1000"),
        (
            dict(layout="large", column_height=400),
            "layout='large': 1205 x 16 cells, 21726 with a margin of sensor_range=1, expected at most 16384",
        ),
        (
            dict(reward="twostage"),
            "reward='twostage': expected 'individual', 'global' or 'two_stage'. Did you mean 'two_stage'?",
        ),
    ],
)
def test_impossible_parameters_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        packaged("warehouse", 1, device="cpu", **params)
    assert str(error.value).endswith(message)
