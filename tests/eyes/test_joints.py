"""Bodies that hold and lock each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.eyes.body_worlds import Scene, body_world
from warpworld import World

DISC, BOX = (0.2, 0.0), (0.4, 0.4)
NOTHING = -1


def dragged(steps: int, force: Any, position: Any, shape: Any, held: Any, **rules: Any) -> World:
    """A world of one scene after some steps, in which forces act against drag."""
    mass = rules.pop("mass", None)
    world = body_world([Scene(position, shape, mass)], drag=10.0, **rules)
    world["held"][:] = torch.tensor([held], dtype=torch.int32)
    world["force"][:] = torch.tensor([force])
    for _ in range(steps):
        world.step()
    return world


def test_a_held_box_follows_at_the_speed_of_both() -> None:
    """20 N against a drag of 10 / s on 2 kg: 1 m / s, after some steps."""
    force = [[20.0, 20.0], [0.0, 0.0]]
    world = dragged(20, force, [[2.0, 2.0], [1.3, 2.0]], [DISC, BOX], [1, NOTHING])
    velocity, position = world.data.numpy("velocity")[0], world.data.numpy("position")[0]
    assert velocity == pytest.approx(np.ones((2, 2)), abs=1e-3)
    assert position[0] - position[1] == pytest.approx([0.7, 0.0], abs=1e-5)
    assert world["held"].tolist() == [[1, NOTHING]]


def test_a_held_box_can_be_pushed_and_its_holder_with_it() -> None:
    """In the prototype of this header a box was fixed while an agent held it.

    20 N against a drag of 10 / s on 3 kg: 0.67 m / s at most.
    """
    position, shape = [[3.0, 2.0], [2.3, 2.0], [1.6, 2.0]], [DISC, BOX, DISC]
    world = dragged(20, [[0.0, 0.0], [0.0, 0.0], [20.0, 0.0]], position, shape, [1, NOTHING, NOTHING])
    went = world.data.numpy("position")[0, :, 0] - np.array([3.0, 2.3, 1.6])
    assert (went > 0.5).all() and (went < 2.0 * 20 / 30).all()
    assert world["held"][0].tolist() == [1, NOTHING, NOTHING]


def test_a_joint_breaks_under_more_than_its_force() -> None:
    """A blow on a held box: what takes its speed from it, 2.22 kg * speed in 0.05 s, is below 60 N or above."""
    position, shape = [[3.0, 2.0], [2.3, 2.0]], [DISC, BOX]
    for speed, holds in ((1.0, True), (1.5, False)):  # 44 N, 67 N
        world = body_world([Scene(position, shape, [5.0, 4.0])])
        world["held"][0, 0], world["velocity"][0, 1, 0] = 1, -speed
        world.step()
        assert (world["held"][0, 0].item() == 1) == holds
        assert world["broken"].item() == 1 - holds
        assert (world["velocity"][0, 0, 0].item() < 0.0) == holds


@pytest.mark.parametrize(("gap", "holds"), [(0.45, True), (0.55, False)])
def test_a_joint_breaks_beyond_its_length(gap: float, holds: bool) -> None:
    world = dragged(1, np.zeros((2, 2)).tolist(), [[3.0, 2.0], [2.4 - gap, 2.0]], [DISC, BOX], [1, NOTHING])
    assert (world["held"][0, 0].item() == 1) == holds
    assert world["broken"].item() == 1 - holds


def test_a_locked_body_is_a_wall_and_no_joint_holds_it() -> None:
    position, shape = [[3.0, 2.0], [2.3, 2.0], [1.6, 2.0]], [DISC, BOX, DISC]
    world = body_world([Scene(position, shape)], drag=10.0)
    world["held"][0, 0], world["locked"][0, 1] = 1, 2
    world["force"][0, :, 0] = torch.tensor([20.0, 0.0, 20.0])
    for _ in range(5):
        world.step()
    after = world.data.numpy("position")[0]
    assert after[1].tolist() == np.float32([2.3, 2.0]).tolist()
    assert after[0, 0] > 3.5 and after[2, 0] == pytest.approx(1.7, abs=2e-4)
    assert world["held"][0, 0].item() == NOTHING
