"""What works on a world's memory keeps it: a step that outlives its world writes to no memory that was freed."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable

import pytest
import torch

from tests.world.walks import Toy
from warpworld import World

Step = Callable[[], None]


def plain(world: World) -> Step:
    return world.step


def captured(world: World) -> Step:
    return world.capture(world.step)


@pytest.mark.parametrize("close", [False, True])
@pytest.mark.parametrize("made", [plain, captured])
def test_a_step_that_outlives_its_world(walk: Toy, made: Callable[[World], Step], close: bool) -> None:
    world = walk()
    world.reset()
    step, memory = made(world), weakref.ref(world.data.block)
    if close:
        world.close()
    del world
    gc.collect()
    block = memory()
    assert block is not None
    before = block.clone()
    step()
    step()  # a fault of the first would show
    assert not torch.equal(block, before)
    del block, step
    gc.collect()
    assert memory() is None


def test_a_copy_that_is_gone_before_its_step_has_begun(walk: Toy) -> None:
    world = walk()
    world.reset()
    for _ in range(3):
        copy.deepcopy(world).step()  # what Python calls is the program, and nothing holds the world
    world.step()
