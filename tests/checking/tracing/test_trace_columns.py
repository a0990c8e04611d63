"""Columns of a trace that some rows have no number for, and names that are asked for twice."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete, MultiDiscrete
from torch import Tensor

from tests.toys import box, environment
from warpworld import Group, World
from warpworld.checking.tracing import Trace


def step(arrays: Any, active: Tensor) -> None:
    """Foxes see their step and ten times it, hens a hundred times it; episodes end in the third."""
    timestep = arrays["timestep"].float()[:, None]
    arrays["observations_fox"] = torch.stack([timestep, 10.0 * timestep], -1).expand(-1, 2, -1)
    arrays["observations_hen"] = (100.0 * timestep)[..., None]
    arrays["terminated"] = arrays["timestep"] == 3


def reset(arrays: Any, active: Tensor) -> None:
    for name in ("observations_fox", "observations_hen"):
        arrays[name] = torch.where(active[:, None, None], -1.0, arrays[name])


def traced(folder: Path, steps: int, arrays: list[str]) -> list[dict[str, str]]:
    groups = [Group("fox", 2, box(2), Discrete(2)), Group("hen", 1, box(1), Discrete(2))]
    world = World(environment(None, groups=groups, phases=[step], resets=[reset]), 2)
    world.request("final_observations")
    with Trace(world, 1, folder / "trace.csv", arrays) as trace:
        world.reset()
        trace.reset()
        for _ in range(steps):
            world.step()
            trace.step()
    with open(trace.path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_final_observations_stand_in_the_rows_of_their_group_and_of_steps(tmp_path: Path) -> None:
    read = traced(tmp_path, 4, ["final_observations_fox", "final_observations_hen", "observations_fox"])
    columns = [f"final_observations_{name}" for name in ("fox[0]", "fox[1]", "hen[0]")]
    found = {(row["step"], row["event"], row["agent"]): [row[name] for name in columns] for row in read}
    for agent in ("0", "1"):
        assert found["3", "step", agent] == ["3.0", "30.0", ""]
    assert found["3", "step", "2"] == ["", "", "300.0"]
    resets = [numbers for (_, event, _), numbers in found.items() if event == "reset"]
    assert len(resets) == 6  # what ended has no part in what begins
    assert resets == [["", "", ""]] * 6
    begun = [row["observations_fox[0]"] for row in read if row["event"] == "reset"]
    assert begun == ["-1.0", "-1.0", ""] * 2


def test_an_array_that_is_asked_for_twice_has_one_column(tmp_path: Path) -> None:
    (row, *_) = traced(tmp_path, 0, ["timestep", "terminated", "timestep"])
    assert list(row) == ["step", "episode", "event", "agent", "group", "timestep", "terminated"]


def named(own: bool = False) -> World:
    """Two foxes whose actions have names, and a hen whose actions have none."""
    foxes = Group("fox", 2, box(2), Discrete(2), action_names=("wait", "run"), own_arrays=own)
    groups = [foxes, Group("hen", 1, box(1), Discrete(3))]
    return World(environment(None, groups=groups, phases=[step], resets=[reset]), 2)


def played(world: World, path: Path) -> None:
    """Two steps; in the second fox 1 has a number that is no choice."""
    with Trace(world, 0, path, [world.action_array("fox")[0], world.action_array("hen")[0]]) as trace:
        world.reset()
        trace.reset()
        for actions in ([1, 0, 1], [0, 9, 1]):
            for group in world.groups.values():
                name, first = world.action_array(group.name)
                chosen = torch.tensor(actions[group.slice], dtype=torch.int32)
                world[name][:, first : first + group.size, 0] = chosen
            world.step()
            trace.step()


@pytest.mark.parametrize("own", [False, True])
def test_names_of_actions_stand_behind_their_numbers(tmp_path: Path, own: bool) -> None:
    played(named(own), tmp_path / "trace.csv")
    with open(tmp_path / "trace.csv", newline="", encoding="utf-8") as file:
        read = list(csv.reader(file))
    apart = ["actions_fox[0]", "actions_fox_name", "actions_hen[0]"]
    assert read[0][5:] == (apart if own else ["actions[0]", "actions_name"])
    names = [row[6] for row in read[1:]]
    assert names == ["", "", "", "run", "wait", "", "wait", "", ""]


def test_names_of_several_choices_stand_together(tmp_path: Path) -> None:
    names = (("wait", "run"), ("left", "right"))
    group = Group("fox", 2, box(1), MultiDiscrete([2, 2]), action_names=names)
    nothing = [lambda arrays, active: None]
    world = World(environment(None, groups=[group], phases=nothing, resets=nothing), 1)
    with Trace(world, 0, tmp_path / "trace.npz", ["actions"]) as trace:
        world.reset()
        trace.reset()
        world["actions"] = torch.tensor([[[1, 0], [0, 2]]], dtype=torch.int32)
        world.step()
        trace.step()
    with np.load(tmp_path / "trace.npz") as data:
        assert data["actions_name"][-1].tolist() == ["run, left", ""]  # 2 is no choice


def test_names_of_actions_in_an_archive(tmp_path: Path) -> None:
    played(named(), tmp_path / "trace.npz")
    with np.load(tmp_path / "trace.npz") as data:
        assert data["actions_name"].tolist() == [["", "", ""], ["run", "wait", ""], ["wait", "", ""]]
        assert data["actions"][:, :, 0].tolist() == [[0, 0, 0], [1, 0, 1], [0, 9, 1]]
