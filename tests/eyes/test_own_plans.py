"""Environments in floor plans that a user has: files, folders of them, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpworld
from tests.packaged import packaged
from warpworld import Kernel, World
from warpworld.config import load_config
from warpworld.errors import ConfigError, DeclarationError
from warpworld.eyes.indoor import eye_bytes
from warpworld.eyes.plans import Plan, box, column, home, write_plan

SMALL: dict[str, Any] = {"res": 32, "subsample": 4}
SQUARE = [[1, 1, 4, 1], [4, 1, 4, 4], [4, 4, 1, 4], [1, 4, 1, 1]]
INSIDE = {"outlines": [[[1, 1], [4, 1], [4, 4], [1, 4]]]}
# 5 m x 4 m of one room, in the format of CubiCasa5k.
SIDES = (
    "100,100 600,100 600,120 100,120",
    "100,480 600,480 600,500 100,500",
    "100,100 120,100 120,500 100,500",
    "580,100 600,100 600,500 580,500",
)
WALLS = "".join(f'<g id="Wall" class="Wall"><polygon points="{points}"/></g>' for points in SIDES)
ROOM = '<g class="Space Kitchen"><polygon points="120,120 580,120 580,480 120,480"/></g>'
DRAWING = f'<svg xmlns="http://www.w3.org/2000/svg">{WALLS}{ROOM}</svg>'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan_text(**changes: Any) -> str:
    return json.dumps({"format": "warpworld plan 1", "name": "flat", "walls": SQUARE, "rooms": INSIDE, **changes})


def made(plans: str, num_envs: int = 4, **params: Any) -> World:
    return packaged("waypoint", num_envs, device="cpu", plans=plans, **{**SMALL, **params})


def names(world: World) -> list[str]:
    return [plan.name for plan in world.environment.params.plan_set.plans]


def test_a_file_of_your_own(here: Path) -> None:
    write_plan(column(6), here / "hall.json")
    world = made("hall.json", 64)
    world.reset()
    world.step()
    places = world.data.numpy("positions")[:, 0]
    assert names(world) == ["column 6 m"]
    assert ((places > 1.1) & (places < 6.9)).all()
    assert (np.linalg.norm(places - 4.0, axis=1) > 0.9).all()  # none is in the column
    assert np.ptp(places, axis=0).min() > 4.0


def test_a_folder_in_the_order_of_names(here: Path) -> None:
    (here / "flats").mkdir()
    for name, plan in (("b", box(4)), ("a", column(5)), ("c", box(3))):
        write_plan(plan, here / "flats" / f"{name}.json")
    (here / "flats" / "notes.txt").write_text("not a plan")
    assert names(made("./flats")) == ["column 5 m", "box 4 m", "box 3 m"]
    world = made("flats/", num_plans=2)
    assert names(world) == ["column 5 m", "box 4 m"]
    world.reset()
    assert set(world.data.numpy("plan").tolist()) <= {0, 1}


def test_folders_of_cubicasa(here: Path) -> None:
    for name in ("high_quality/17", "colorful/4711"):
        (here / "cubicasa5k" / name).mkdir(parents=True)
        (here / "cubicasa5k" / name / "model.svg").write_text(DRAWING)
    assert names(made("./cubicasa5k")) == ["4711", "17"]
    assert names(made("cubicasa5k/high_quality/17")) == ["17"]
    made("cubicasa5k/high_quality/17/model.svg").reset()


def test_a_file_that_has_changed_is_read_again(here: Path) -> None:
    write_plan(box(4), here / "room.json")
    assert names(made("room.json")) == ["box 4 m"]
    write_plan(column(5), here / "room.json")
    assert names(made("room.json")) == ["column 5 m"]


def test_a_config_names_plans_beside_it(here: Path) -> None:
    """On the command line they are relative to the working folder, as environments are."""
    project, elsewhere = here / "project", here / "elsewhere"
    project.mkdir(), elsewhere.mkdir()
    write_plan(box(4), project / "room.json")
    write_plan(box(5), here / "room.json")
    trainer = "{num_envs: 4, num_steps: 8, total_env_steps: 64}"
    text = f"name: waypoint\nenv: {{plans: ./room.json}}\ntrainer: {trainer}\npolicy: {{walker: }}\n"
    (project / "walk.yaml").write_text(text)
    assert load_config("project/walk.yaml").env["plans"] == str(project / "room.json")
    assert load_config("project/walk.yaml", ["env.plans=./room.json"]).env["plans"] == str(here / "room.json")
    assert load_config("project/walk.yaml", ["env.plans=box"]).env["plans"] == "box"
    with pytest.raises(ConfigError, match=r"no.json.*: .*'.*/no.json' is neither a file nor a folder"):
        load_config("project/walk.yaml", ["env.plans=./no.json"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "'plan.json': is not JSON: line 1, column 2"),
        (plan_text(walls=[*SQUARE, [2, 2, 2, 2]]), "plan 'flat': wall 4 (2.00, 2.00)-(2.00, 2.00) has no length"),
        (
            plan_text(walls=[*SQUARE, [2, 2, 3, 3], [2, 3, 3, 2]]),
            "plan 'flat': wall 4 (2.00, 2.00)-(3.00, 3.00) and wall 5 (2.00, 3.00)-(3.00, 2.00) cross",
        ),
        (plan_text(walls=[*SQUARE, [2, 2, float("nan"), 3]]), "plan 'flat': wall 4 is (2, 2, nan, 3), expected finite"),
        (plan_text(rooms={"outlines": []}), "plan 'flat': no room to spawn in"),
        (
            plan_text(
                walls=[[1, 1, 1.15, 1], [1.15, 1, 1.15, 4], [1.15, 4, 1, 4], [1, 4, 1, 1]],
                rooms={"map": [[0, 1]], "resolution": 0.1, "origin": [0.95, 2]},
            ),
            "plan 'flat': no room to spawn: nowhere in its rooms is a cell in which a disc of radius 0.106066 m is",
        ),
        (
            plan_text(walls=[*SQUARE, *([1.1 + i * 0.002, 2, 1.1 + i * 0.002, 3] for i in range(1021))]),
            "plan 'flat': 1025 walls, expected 1 to 1024",
        ),
    ],
    ids=["JSON", "length", "cross", "nan", "rooms", "cells", "walls"],
)
def test_impossible_plans(text: str, message: str, here: Path) -> None:
    (here / "plan.json").write_text(text)
    with pytest.raises(DeclarationError) as error:
        made("plan.json")
    assert str(error.value).startswith("plans='plan.json': ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("plans", "message"),
    [
        ("no.json", "plans='no.json': 'no.json' is neither a file nor a folder; expected plans as JSON"),
        ("./empty", "plans='./empty': folder 'empty' holds no plans: expected files NAME.json, or folders with a"),
        ("empty", "plans='empty': expected homes, box, column, or a file or folder of plans, such as ./empty.json. To"),
        ("bos", "or a file or folder of plans, such as ./bos.json. Did you mean 'box'?"),
        ("broken.svg", "plans='broken.svg': 'broken.svg': is not SVG"),
    ],
)
def test_plans_that_are_not_there(plans: str, message: str, here: Path) -> None:
    (here / "empty").mkdir()
    (here / "broken.svg").write_text("<svg>")
    with pytest.raises(DeclarationError) as error:
        made(plans)
    assert message in str(error.value)


# ---- what a block has room for ---------------------------------------------------------------------------------------
SIZES = r"""#include <indoor.cuh>
#include <warpworld.cuh>
extern "C" __global__ void step(int* bytes) {
  if (is_active()) bytes[agent_index()] = (int)sizeof(raycast::Eye<RES, MOST_WALLS>);
}
"""


@pytest.mark.parametrize(("res", "walls", "agents"), [(1, 32, 1), (511, 96, 3), (64, 1024, 8)])
def test_what_a_camera_shares_is_counted_right(res: int, walls: int, agents: int, here: Path) -> None:
    from tests.toys import agents as group
    from tests.toys import environment

    (here / "sizes.cu").write_text(SIZES)
    constants = {"res": res, "most_walls": walls}
    arrays = [warpworld.Array("bytes", "int32")]
    compiled = tuple(constants)
    declared = environment(
        here / "sizes.cu", arrays, [group(agents)], constants, [Kernel("step")], resets=(), compile_time=compiled
    )
    world = World(declared, 1, device="cpu")
    world.reset()
    world.step()
    assert (world.data.numpy("bytes") == eye_bytes(res, walls, agents)).all()


def comb(walls: int) -> Plan:
    """A room with so many walls, most of them teeth in a row."""
    room = box(5)
    teeth = [[[1.5 + i * 0.004, 5.5], [1.5 + i * 0.004, 5.6]] for i in range(walls - 4)]
    return Plan("comb", [*room.walls.tolist(), *teeth], room.lights, room.rooms)


def test_too_many_walls_and_rays_for_a_block(here: Path) -> None:
    """Of 48 KiB a camera may have all but 1 KiB and 32 bytes an agent: 1,024 walls and 2,327 rays."""
    (here / "many").mkdir()
    write_plan(comb(1001), here / "many" / "comb.json")
    write_plan(home(0, 0), here / "many" / "home.json")
    fits = made("./many", res=2327, subsample=1)
    assert fits.environment.params.most_walls == 1024
    with pytest.raises(DeclarationError) as error:
        made("./many", res=2328, subsample=1)
    assert str(error.value) == (
        "waypoint: 1 agent, res=2328 and the 1001 walls of plan 'comb' take 48,100 bytes of the 48,096 that the "
        "threads of an env share for a camera; use fewer rays, fewer agents, or plans with fewer walls"
    )
