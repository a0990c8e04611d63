"""docs/plans.md shows what runs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

import warpworld
from tests.docs.pages import blocks, page
from tests.eyes.plans.plan_oracle import distances
from warpworld.eyes.plans import PlanSet
from warpworld.world import World

PAGE = page("plans")


@pytest.fixture
def guests(working_folder: Path) -> Any:
    """The page's environment."""
    (working_folder / "guests.py").write_text(blocks(PAGE, "python")[1])
    (working_folder / "guests.cu").write_text(blocks(PAGE, "cuda")[0])
    return importlib.import_module("guests").Guests()


def test_the_example_of_a_set() -> None:
    names: dict[str, object] = {}
    lines = [line.replace("count=60", "count=2") for line in blocks(PAGE, "python")[0].splitlines()]
    exec("\n".join(lines), names)
    assert isinstance(names["plans"], PlanSet)
    assert names["plans"].num_plans == 3


@pytest.mark.long
def test_guests_start_in_rooms_of_their_plans(guests: Any) -> None:
    plans = guests.plans.plans
    world = World(guests, num_envs=400, device="cpu", seed=5)
    world.reset()
    visited = set()
    chosen = world["plan"].cpu().numpy().tolist()
    for number, guests in zip(chosen, world["position"].double().cpu().numpy(), strict=True):
        plan = plans[number]
        assert distances(guests, plan.walls).min() >= 0.106066 + 0.01 - 1e-5
        column, row = (guests // plan.resolution).astype(int).T
        assert (plan.rooms[row, column] > 0).all()
        visited |= {(number, room) for room in plan.rooms[row, column].tolist()}
    assert len(visited) > 0.95 * sum(plan.num_rooms for plan in plans), "they start in all rooms"
    assert min(chosen.count(number) for number in range(8)) > 20


@pytest.mark.cpu_backend
def test_a_check_finds_nothing_in_the_example(guests: Any) -> None:
    report = warpworld.check(guests, 3, 3)
    assert report.clean, str(report)
