"""Packaged worlds with eyes whose cameras write float16: nothing but their pixels is rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.packaged import packaged
from warpworld.drawing import Image
from warpworld.errors import DeclarationError

SMALL = {"num_plans": 2, "max_rooms": 7, "res": 16, "subsample": 2}
WORLDS: dict[str, dict[str, Any]] = {
    "waypoint": {},
    "point_goal": {"goal_distance": (1, 4)},
    "explorer": {},
    "deathmatch": {"players": 4, "plans": "box", "fov": 120.0},
    "deathmatch, megastep's rules": {"megastep_rules": True},
}
PIXELS = ("observations_rgb", "observations_depth", "observations_agents")


@pytest.mark.long
@pytest.mark.parametrize("world_name", WORLDS)
def test_pixels_are_those_of_float32_rounded_to_the_nearest(world_name: str) -> None:
    name, own = world_name.partition(",")[0], WORLDS[world_name]
    wide, narrow = (packaged(name, 6, seed=2, **SMALL, **own, dtype=dtype) for dtype in ("float32", "float16"))
    draws = np.random.default_rng(0)
    wide.reset()
    narrow.reset()
    actions = wide.data.numpy("actions")
    for _ in range(12):
        drawn = torch.as_tensor(draws.integers(0, 2, actions.shape), dtype=torch.int32)
        for world in (wide, narrow):
            world["actions"].copy_(drawn)
            world.step()
    shown = [array for array in wide.data.names("state") if array in PIXELS]
    assert len(shown) == (3 if world_name == "deathmatch" else 2)
    for array in wide.data.names("state"):
        expected, found = wide.data.numpy(array), narrow.data.numpy(array)
        assert found.dtype == (np.float16 if array in shown else expected.dtype)
        assert np.array_equal(found, expected.astype(found.dtype), equal_nan=True), array
    assert all(np.ptp(wide.data.numpy(array)) > 0.2 for array in shown)


def test_a_picture_shows_halves() -> None:
    world = packaged("deathmatch", 1, device="cpu", **SMALL, dtype="float16")
    world.reset()
    one = {name: world.data.numpy(name)[0] for name in world.data if world.data.array(name).per != "world"}
    drawing = world.environment.draw(one)
    assert drawing is not None
    assert any(isinstance(mark, Image) for mark in drawing.marks)


def test_another_dtype_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"^waypoint: dtype='half': expected 'float32' or 'float16'$"):
        packaged("waypoint", 1, **SMALL, dtype="half")
