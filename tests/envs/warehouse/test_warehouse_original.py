"""Warehouse beside rware, from equal states with equal actions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import often
from tests.envs.warehouse.original import Originals, graphs_in_order
from tests.packaged import packaged
from warpworld import World

YARD = """
x.x.x
.....
x.g.x
..g..
x...x
"""

# parameters, and how much is done
CASES: dict[str, dict[str, Any]] = {
    "tiny": {},
    "small-global": dict(layout="small", agents=4, request_queue_size=8, reward="global", sensor_range=2),
    "low-two-stage": dict(column_height=2, agents=8, request_queue_size=6, reward="two_stage", episode_length=200),
    "crowded-yard": dict(
        **dict(layout="yard.txt", agents=12, request_queue_size=5, reward="two_stage", episode_length=200),
        **dict(max_inactivity_steps=60, normalised_coordinates=True),
    ),
}

# The other has all that these have; `make exhaustive` takes these as well.
BESIDES = dict.fromkeys(("tiny", "low-two-stage", "small-global"), pytest.mark.exhaustive)


def mostly_forward(world: World, generator: np.random.Generator) -> np.ndarray:
    """Actions (envs, robots): forward more often than others; some take shelves that are asked for where they stand."""
    actions = generator.choice(5, (world.num_envs, world.num_agents), p=[0.05, 0.55, 0.15, 0.15, 0.1])
    looks = world.data.numpy("looks").reshape(world.num_envs, -1)
    is_wanted = np.take_along_axis(looks, world.data.numpy("cell"), 1) & 64 > 0
    can_take = is_wanted & (world.data.numpy("carrying") == 0)
    return np.where(can_take & (generator.random(actions.shape) < 0.7), 4, actions)


def walk(case: str, num_envs: int, steps: int, folder: Path) -> dict[str, float]:
    """Step both side by side; returns what happened how often."""
    params = dict(CASES[case])
    if params.get("layout", "").endswith(".txt"):
        params["layout"] = str(folder / "yard.txt")
        (folder / "yard.txt").write_text(YARD, encoding="utf-8")
    world = packaged("warehouse", num_envs, device="cpu", seed=5, final_observations=True, **params)
    world.reset()
    originals, generator = Originals(world), np.random.default_rng(1)
    happened = dict.fromkeys(("rewards", "ends", "taken", "moved", "stopped"), 0.0)
    for _ in range(steps):
        actions = mostly_forward(world, generator)
        world["actions"][:] = torch.from_numpy(actions.astype(np.int32))[..., None]
        before = originals.state()
        seen, rewards, ended = originals.step(world, actions)
        world.step()
        over = world.data.numpy("terminated") | world.data.numpy("truncated")
        np.testing.assert_array_equal(world.data.numpy("rewards"), rewards)
        np.testing.assert_array_equal(over, ended)
        np.testing.assert_array_equal(world.data.numpy("observations")[~over], seen[~over])
        np.testing.assert_array_equal(world.data.numpy("final_observations")[over], seen[over])
        now = originals.state()
        for name, values in now.items():
            np.testing.assert_array_equal(world.data.numpy(name)[~over], values[~over], err_msg=name)
        moved = now["cell"] != before["cell"]
        happened["rewards"] += float(rewards.sum())
        happened["ends"] += int(over.sum())
        happened["taken"] += int(((now["carrying"] > 0) & (before["carrying"] == 0)).sum())
        happened["moved"] += int(moved.sum())
        happened["stopped"] += int(((actions == 1) & ~moved).sum())
        originals.follow(world, over)
    return happened


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """rware with graphs in the order in which it builds them."""
    pytest.importorskip("rware", reason="rware is not installed; make peers")
    monkeypatch.setattr("rware.warehouse.nx", graphs_in_order())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.long
def test_the_package_drives_the_same(case: str, tmp_path: Path) -> None:
    happened = walk(case, num_envs=2, steps=150, folder=tmp_path)
    assert happened["taken"] > 0 and happened["moved"] > 0 and happened["stopped"] > 0


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param(case, marks=BESIDES.get(case, ())) for case in CASES])
@pytest.mark.parametrize("steps", often([2000], [2000, 5000]))
def test_the_package_drives_the_same_for_long(case: str, steps: int, tmp_path: Path) -> None:
    """Shelves are delivered and put back, circles and queues drive, and episodes end."""
    happened = walk(case, num_envs=4, steps=steps, folder=tmp_path)
    assert happened["ends"] > 30 * steps // 5000 and happened["rewards"] > 10 * steps // 5000, happened
