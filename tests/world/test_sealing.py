"""What parts do when a world gets its memory."""

from __future__ import annotations

import pytest

from tests.world.walks import Toy
from warpworld import Array
from warpworld.errors import DeclarationError


def test_parts_are_called_in_order_before_the_first_reset(walk: Toy) -> None:
    world = walk()
    world.add(Array("mine", "int32", initial=7))
    seen: list[tuple[str, list[int], int]] = []
    for name in ("first", "second"):
        world.when_sealed(
            lambda name=name: seen.append((name, world["mine"].unique().tolist(), int(world["resets"].sum())))
        )
    assert not seen
    world.reset()
    assert seen == [("first", [7], 0), ("second", [7], 0)]
    world.reset()
    world.seal()
    assert len(seen) == 2


def test_the_step_is_ready_when_they_are_called(walk: Toy) -> None:
    world = walk()
    world.when_sealed(lambda: world.step())
    world.seal()
    assert world["timestep"].tolist() == [1] * 6


def test_a_sealed_world_calls_at_once(walk: Toy) -> None:
    world = walk()
    calls: list[str] = []
    world.when_sealed(lambda: world.when_sealed(lambda: calls.append("from another part")))
    world.seal()
    world.when_sealed(lambda: calls.append("late"))
    assert calls == ["from another part", "late"]


def test_what_a_part_refuses_is_refused_by_sealing(walk: Toy) -> None:
    world = walk()

    def refuse() -> None:
        raise DeclarationError("that does not fit")

    world.when_sealed(refuse)
    with pytest.raises(DeclarationError, match="that does not fit"):
        world.reset()
