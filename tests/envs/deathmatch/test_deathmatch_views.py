"""What agents in Deathmatch see of each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.brute_force import BruteDeathmatch
from tests.envs.deathmatch.fights import FOUR, HOMES, act, face_off, place
from tests.eyes.arenas import RADIUS
from warpworld import World
from warpworld.envs.deathmatch.deathmatch import Deathmatch


def test_opponents_are_seen() -> None:
    """Two metres ahead, where the wall is four metres away; and its heading by the colours of its sides."""
    world = face_off(1, distance=2.0, res=64, subsample=1, fov=60.0)
    act(world)
    near = world.data.numpy("observations_depth")[0, 0, 0]
    assert near[31:33] == pytest.approx(1.0 - (2.0 - 0.075 - RADIUS) / 10.0, abs=1e-4)
    assert near[[20, 44]].max() < 1.0 - (3.9 - RADIUS) / 10.0
    place(world, [[2.0, 3.5], [4.0, 3.5]], [0.0, 90.0])  # its left side, which is red
    act(world)
    red, green, blue = world.data.numpy("observations_rgb")[0, 0][:, [30, 33]]  # its edges, seen askew
    assert red == pytest.approx([0.5, 0.5], abs=0.1)
    assert green.max() < 1e-3 and blue.max() < 1e-3


def test_which_pixels_are_somebody_is_told_in_shares() -> None:
    """A body of 0.075 m to either side, two metres ahead, whose edges are met by parts of a pixel's rays."""
    world = face_off(1, distance=2.0, res=256, subsample=4, fov=60.0)
    place(world, [[2.0, 3.5], [4.0, 3.5]], [2.0, 90.0])
    act(world)
    shares = world.data.numpy("observations_agents")[0, 0, 0]
    off = np.degrees(np.arctan((255 - 2 * np.arange(256)) / 256 * np.tan(np.radians(30.0))))
    met = np.abs(off + 2.0) < np.degrees(np.arctan2(0.075, 2.0 - 0.0375))  # the corners farthest out
    assert set(met.reshape(64, 4).sum(axis=1)) >= {0, 4} and {1, 2, 3} & set(met.reshape(64, 4).sum(axis=1))
    assert np.array_equal(shares, met.reshape(64, 4).mean(axis=1))
    place(world, [[2.0, 3.5], [1.0, 3.5]], [0.0, 0.0])
    act(world)
    assert world.data.numpy("observations_agents")[0, 0].max() == 0.0  # behind
    assert world.data.numpy("observations_agents")[0, 1].max() == 1.0


def test_by_megastep_nobody_is_told_which_pixels_are_agents() -> None:
    """Its observations are colours, nearness, motion and health."""
    world = World(Deathmatch(**HOMES, megastep_rules=True), 2, device="cpu", seed=1)
    seen = {name for name in world.data if name.startswith("observations_")}
    assert seen == {f"observations_{part}" for part in ("rgb", "depth", "imu", "health")}


def test_opponents_are_seen_in_the_light_of_where_they_are() -> None:
    """In a corner, 3.1 m from the lamp: 0.1 of ambient light, and twice the lamp's by the square of the distance."""
    world = face_off(1, res=64, subsample=1, fov=60.0)
    place(world, [[3.7, 5.7], [5.7, 5.7]], [0.0, 90.0])
    act(world)
    red = world.data.numpy("observations_rgb")[0, 0, 0, [30, 33]]
    assert red == pytest.approx(0.5 * (0.1 + 2.0 / (2.2**2 + 2.2**2)), rel=0.1)


@pytest.mark.heavy
def test_brute_force_draws_the_same() -> None:
    """Pixels differ only where a ray grazes the end of a line or of a texel."""
    params: dict[str, Any] = {**HOMES, **FOUR, "res": 64, "subsample": 4}
    worlds = [World(kind(**params), 6, device="cpu", seed=3) for kind in (Deathmatch, BruteDeathmatch)]
    draws, different, seen = np.random.default_rng(2), [], []
    for world in worlds:
        world.seal()
        world["near_spawn"].fill_(1.0)
        world.reset()
    for _ in range(30):
        actions = draws.integers(0, 2, worlds[0]["actions"].shape)
        for world in worlds:
            world["actions"][:] = torch.as_tensor(actions)
            world.step()
        ours, theirs = (world.data.numpy("observations_rgb") for world in worlds)
        shares, their_shares = (world.data.numpy("observations_agents") for world in worlds)
        different.append((np.abs(ours - theirs) > 0.005).any(axis=2) | (shares != their_shares)[:, :, 0])
        seen.append(shares.copy())
        assert np.array_equal(*(world.data.numpy("positions") for world in worlds))
    assert np.mean(different) < 0.01  # of pixels, which are four rays each
    assert np.mean(np.array(seen) > 0.0) > 0.03  # which is more than may differ
    assert worlds[0].data.numpy("in_sight").mean() > 0.3
