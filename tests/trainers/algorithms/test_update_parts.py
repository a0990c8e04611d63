"""Updates in parts: how many passes are made, and which parts are captured together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from warpworld.trainers.algorithms.updates.update_parts import Part, UpdateParts

Capture = Callable[[Part], Part]


def in_parts(done: list[str], passes: int, enough_after: int | None = None) -> UpdateParts:
    """An update that notes what it does; ``enough_after`` so many passes, where that is asked."""
    part = {name: lambda name=name: done.append(name) for name in ("first", "another", "last")}
    is_enough = None if enough_after is None else lambda: len(done) >= enough_after
    return UpdateParts(**part, passes=passes, is_enough=is_enough)


def capturing(done: list[str], refused: str = "") -> Capture:
    """Gives a graph of all parts but one, which notes the part that it holds."""

    def capture(part: Part) -> Part:
        part()
        held, done[:] = list(done), []
        return part if held == [refused] else lambda: done.append(" ".join(held).join("[]"))

    return capture


@pytest.mark.parametrize(("enough_after", "others"), [(None, 3), (1, 0), (2, 1), (3, 2), (4, 3), (9, 3)])
def test_passes_are_made_until_it_is_enough(enough_after: int | None, others: int) -> None:
    done: list[str] = []
    in_parts(done, 4, enough_after).run()
    assert done == ["first", *["another"] * others, "last"]


def test_nothing_is_asked_when_no_other_pass_may_follow() -> None:
    asked: list[int] = []
    UpdateParts(*[lambda: None] * 3, passes=3, is_enough=lambda: bool(asked.append(1))).run()
    assert len(asked) == 2


def test_one_graph_holds_all_where_nothing_is_read() -> None:
    done: list[str] = []
    run = in_parts(done, 3).captured(capturing(done))
    run()
    assert done == ["[first another another last]"]


def test_each_part_has_a_graph_where_something_is_read() -> None:
    done: list[str] = []
    run = in_parts(done, 3, enough_after=2).captured(capturing(done))
    run()
    assert done == ["[first]", "[another]", "[last]"]


@pytest.mark.parametrize("refused", ["first", "another", "last"])
def test_no_graph_is_used_beside_a_part_that_has_none(refused: str) -> None:
    done: list[str] = []
    run = in_parts(done, 3, enough_after=9).captured(capturing(done, refused))
    run()
    assert done == ["first", "another", "another", "last"]
