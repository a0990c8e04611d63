"""What a group without a policy does in a Box that is bounded on one side, both or none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from gymnasium.spaces import Box

from tests.toys import IDLE, box, environment
from warpworld import Group, World
from warpworld.trainers.collecting.actor import Actor

INFINITY = float("inf")
LOW = [-0.5, -INFINITY, -1.0, -INFINITY, 2.0]
HIGH = [INFINITY, 0.25, 3.0, INFINITY, INFINITY]


def test_half_infinite_dimensions_are_normal_and_cut_off(tmp_path: Path) -> None:
    source = tmp_path / "idle.cu"
    source.write_text(IDLE)
    space = Box(np.array(LOW, np.float32), np.array(HIGH, np.float32))
    world = World(environment(source, groups=[Group("agent", 2, box(1), space)]), 10_000, seed=3)
    actor = Actor(world, "agent")
    world.reset()
    actor.act()
    found = world["actions"].flatten(0, 1).double().cpu()
    low, high = torch.tensor(LOW, dtype=torch.float64), torch.tensor(HIGH, dtype=torch.float64)
    assert ((found >= low) & (found <= high)).all()

    normal = torch.distributions.Normal(0.0, 1.0)
    for i, bound in ((0, -0.5), (1, 0.25)):  # the rest of the normal distribution lies on the bound
        below = normal.cdf(torch.tensor(bound)).item()
        expected = below if i == 0 else 1 - below
        assert abs((found[:, i] == bound).double().mean() - expected) < 0.02
        assert found[:, i].abs().max() > 3
    assert abs(found[:, 2].mean() - 1) < 0.05 and abs(found[:, 2].std() - 4 / 12**0.5) < 0.02
    assert abs(found[:, 3].mean()) < 0.03 and abs(found[:, 3].std() - 1) < 0.03
    assert found[:, 4].max() > 3 and (found[:, 4] == 2).double().mean() > 0.95
