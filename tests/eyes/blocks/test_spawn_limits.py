"""How close to each other agents may start."""

from __future__ import annotations

import numpy as np

from tests.eyes.arenas import RADIUS
from tests.eyes.blocks.block_worlds import made
from warpworld.eyes.blocks import IMU, MomentumMovement, RandomSpawns


def test_agents_start_a_centimetre_apart_and_no_farther() -> None:
    """In a small box, where 64 draws find a place for each."""
    world = made(MomentumMovement(), IMU(), RandomSpawns(), num_envs=2000, agents=8, plans="box")
    places = world.data.numpy("positions").astype(np.float64)
    apart = np.linalg.norm(places[:, :, None] - places[:, None], axis=-1) + 9.0 * np.eye(8)
    assert apart.min() >= 2.0 * RADIUS + 0.01 - 1e-5
    assert apart.min() < 2.0 * RADIUS + 0.012
