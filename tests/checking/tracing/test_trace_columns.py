"""Columns of a trace that some rows have no number for, and names that are asked for twice."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import torch
from gymnasium.spaces import Discrete
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
