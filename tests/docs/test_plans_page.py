"""docs/plans.md shows what runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import warpworld
from tests.docs.pages import blocks, page
from tests.eyes.plans.plan_oracle import distances
from warpworld.eyes.plans import PlanSet
from warpworld.world import World

PAGE = page("plans")


def test_the_example_of_a_set() -> None:
    names: dict[str, object] = {}
    lines = [line.replace("count=60", "count=2") for line in blocks(PAGE, "python")[0].splitlines()]
    exec("\n".join(lines), names)
    assert isinstance(names["plans"], PlanSet)
    assert names["plans"].num_plans == 3


@pytest.mark.long
def test_guests_start_in_rooms_of_their_plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "guests.py").write_text(blocks(PAGE, "python")[1])
    (tmp_path / "guests.cu").write_text(blocks(PAGE, "cuda")[0])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "guests", raising=False)
    environment = __import__("guests").Guests()
    plans = environment.plans.plans
    world = World(environment, num_envs=400, device="cpu", seed=5)
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
def test_a_check_finds_nothing_in_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "guests.py").write_text(blocks(PAGE, "python")[1])
    (tmp_path / "guests.cu").write_text(blocks(PAGE, "cuda")[0])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "guests", raising=False)
    report = warpworld.check(__import__("guests").Guests(), 3, 3)
    assert report.clean, str(report)
