"""examples/planner.py: what it plans is better than chance, and its real env is never changed by branches."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

import warpworld

pytestmark = pytest.mark.cpu_backend
PLANNER = Path(__file__).parents[2] / "examples" / "planner.py"


@pytest.fixture(scope="module")
def planner() -> Any:
    spec = importlib.util.spec_from_file_location("planner", PLANNER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pole_stays_up(planner: Any) -> None:
    assert planner.play(steps=100) == 100  # at random it falls after about 22 steps


def test_branches_leave_the_env_alone(planner: Any) -> None:
    world = warpworld.make("cartpole", 9, device="cpu", autoreset="disabled")
    world.reset()
    before = world.state([0])
    planner.best_action(world, 10, torch.Generator().manual_seed(0))
    world["actions"][0] = 0
    assert torch.equal(world.state([0]), before)
