"""What agents feel of their motion: summed in float64, it is where they are, however often they touched something."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.eyes.blocks.block_worlds import declared
from tests.packaged import packaged
from warpworld import World
from warpworld.eyes.blocks import IMU, MomentumMovement, RandomSpawns, SimpleMovement

STEPS = 120
HOMES: dict[str, Any] = {"num_plans": 3, "min_rooms": 2, "max_rooms": 4, "res": 4, "subsample": 1}


def blocks(movement: Any) -> World:
    return World(declared(movement, IMU(), RandomSpawns(), agents=3, **HOMES), 24, device="cpu", seed=3)


WORLDS = {
    "explorer": lambda: packaged("explorer", 40, device="cpu", seed=3, patience=STEPS + 1, **HOMES),
    "point_goal": lambda: packaged("point_goal", 40, device="cpu", seed=3, **HOMES),
    "deathmatch": lambda: packaged("deathmatch", 20, device="cpu", seed=3, players=3, **HOMES),
    "momentum": lambda: blocks(MomentumMovement()),
    "simple": lambda: blocks(SimpleMovement()),
}


@pytest.mark.parametrize("name", WORLDS)
def test_felt_motion_adds_up_to_the_way(name: str) -> None:
    """Pushes that last, most of them forward, drive agents into walls and each other in many steps."""
    world, draws = WORLDS[name](), np.random.default_rng(1)
    world.reset()
    number, fps = world.data.numpy, world.environment.params.fps
    place, angle = (number(each).astype(np.float64) for each in ("positions", "angles"))
    by_velocity, heading = place.copy(), angle.copy()
    whole = np.ones(world.num_envs, dtype=bool)  # whose first episode continues
    actions = np.zeros(number("actions").shape, dtype=np.int32)
    for step in range(STEPS):
        if step % 8 == 0:
            choices = [1, 3, 3, 3, 4] if actions.shape[-1] > 1 else [3, 3, 3, 5, 6]
            actions[..., 0] = draws.choice(choices, place.shape[:2])
            if actions.shape[-1] > 1:
                actions[..., 1] = draws.integers(0, 5, place.shape[:2])
        world["actions"][:] = torch.as_tensor(actions)
        world.step()
        whole &= ~(number("terminated") | number("truncated"))
        felt = number("observations_imu").astype(np.float64)
        heading += 360.0 * felt[..., 0] / fps
        ahead = np.stack([np.cos(np.radians(heading)), np.sin(np.radians(heading))], axis=-1)
        left = np.stack([-ahead[..., 1], ahead[..., 0]], axis=-1)
        place += 10.0 / fps * (felt[..., 1:2] * ahead + felt[..., 2:3] * left)
        by_velocity += number("velocity") / fps
    assert whole.mean() > 0.5
    assert np.abs(place - number("positions"))[whole].max() < 2e-4
    # the velocity that is left after contacts would not do
    assert np.linalg.norm(by_velocity - number("positions"), axis=-1)[whole].max() > 0.05
