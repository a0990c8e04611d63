"""Explorer's reference walks where there is room."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.packaged import packaged
from tests.scripts import script_outputs

BOX: dict[str, Any] = {"plans": "box", "res": 16, "subsample": 4}  # walls at 1 m and 6 m
FORWARD, LEFT, RIGHT = 3, 5, 6


@pytest.mark.parametrize(
    ("place", "angle", "turning", "chosen"),
    [
        ((3.5, 3.5), 0.0, 0.0, FORWARD),
        ((4.9, 3.5), 0.0, 0.0, FORWARD),  # 1.1 m ahead
        ((5.1, 3.5), 10.0, 0.0, LEFT),  # away from where the wall is nearest
        ((5.1, 3.5), -10.0, 0.0, RIGHT),
        ((5.1, 3.5), 10.0, -30.0, RIGHT),  # a turn that has begun
        ((5.1, 3.5), -10.0, 30.0, LEFT),
        ((5.1, 3.5), 180.0, 30.0, FORWARD),
    ],
)
def test_wander_turns_to_the_side_with_more_room(
    place: tuple[float, float], angle: float, turning: float, chosen: int
) -> None:
    world = packaged("explorer", 2, device="cpu", **BOX)
    world.reset()
    world["positions"][:, 0] = torch.tensor(place)
    world["angles"][:] = angle
    world["angvelocity"][:] = turning
    logits = script_outputs(world, "wander", "explorer")
    assert logits.shape == (2, 1, 7)
    assert (logits.argmax(-1) == chosen).all()
