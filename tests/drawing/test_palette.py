"""Colours of series: in order, and by name where a series is called as a colour."""

from __future__ import annotations

import pytest

from warpworld.drawing.palette import NAMED, SERIES, colour_table


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["a", "b", "c", "d", "e", "f", "g"], [0, 1, 2, 3, 4, 5, 0]),
        (["red", "blue"], [1, 0]),
        (["orange", "wolf"], [1, 0]),
        (["orange", "red", "blue", "wolf"], [4, 1, 0, 2]),
        (["wolf", "blue", "hare"], [1, 0, 2]),
        (["blue", "red", "green", "purple", "sheep", "dog", "cat"], [0, 1, 2, 3, 4, 5, 4]),
    ],
)
def test_a_series_named_after_a_colour_has_it_and_others_share_the_rest(names: list[str], places: list[int]) -> None:
    table = colour_table(names)
    assert [table[name][0] for name in names] == [SERIES[place] for place in places]


def test_named_colours_look_like_their_names() -> None:
    """The largest part of red is red, of blue blue, of green green."""
    for part, name in enumerate(("red", "green", "blue")):
        parts = [int(SERIES[NAMED[name]][at : at + 2], 16) for at in (1, 3, 5)]
        assert parts.index(max(parts)) == part
