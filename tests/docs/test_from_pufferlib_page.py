"""docs/from-pufferlib.md and the drones of docs/groups.md: what they show runs, is free of findings, and learns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import files, page
from warpworld import World, check, load_config, train
from warpworld.environment import get_environment
from warpworld.runs.summary import summarise

pytestmark = pytest.mark.cpu_backend


def written(name: str, folder: Path) -> None:
    for file, text in files(page(name)):
        (folder / file).write_text(text)


@pytest.mark.heavy
def test_the_corridor_is_checked_and_learnt(working_folder: Path) -> None:
    written("from-pufferlib", working_folder)
    assert (working_folder / "corridor.cu").read_text().count("\n") - 1 <= 20
    report = check("corridor.py", steps=60)
    assert not report.findings, str(report)
    config = load_config("corridor.yaml")
    found = summarise(train(config)).returns["agent"]
    assert found.last > 8.0  # of 17 steps at most 12 end at the right end


@pytest.mark.heavy
def test_drones_that_the_kernel_moves(working_folder: Path) -> None:
    written("groups", working_folder)
    report = check("drones.py", steps=60)
    assert not report.findings, str(report)
    world = World(get_environment("drones.py")(num_drones=5), 4, "cpu", seed=3)
    world.reset()
    before = world["drones"].clone()
    world["actions"] = 1
    world.step()
    assert ((world["drones"] - before) % 10.0 - 0.5).abs().max() < 1e-5
