"""What works on a world's memory keeps it: a step that outlives its world writes to no memory that was freed."""

from __future__ import annotations

import copy
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
    block = memory()
    assert block is not None
    before = block.clone()
    step()
    step()  # a fault of the first would show
    assert not torch.equal(block, before)
    del block, step
    assert memory() is None  # at once, without a collection of garbage


@pytest.mark.parametrize("calls", [[], ["reset"], ["reset", "step"], ["reset", "close"]])
def test_a_world_is_freed_where_it_is_dropped(walk: Toy, calls: list[str]) -> None:
    """At once, and not later in the thread that happens to collect garbage."""
    world = walk()
    for call in calls:
        getattr(world, call)()
    dropped = weakref.ref(world)
    del world
    assert dropped() is None


def test_a_copy_that_is_gone_before_its_step_has_begun(walk: Toy) -> None:
    world = walk()
    world.reset()
    for _ in range(3):
        copy.deepcopy(world).step()  # what Python calls is the program, and nothing holds the world
    world.step()
