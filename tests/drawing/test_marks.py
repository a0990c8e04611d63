"""Marks and drawings: what they accept, and what they say of the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from warpworld.drawing import (
    MARKS,
    Arrowheads,
    Discs,
    Drawing,
    Image,
    Mark,
    Polyline,
    Rectangles,
    Segments,
    Text,
    Wedges,
    check_colours,
)
from warpworld.errors import DeclarationError

VIEW = (0.0, 0.0, 1.0, 1.0)


def test_one_number_stands_for_all() -> None:
    discs = Discs(np.array([1, 2, 3], dtype=np.int32), 5, [0.5, 0.5, 1.0])
    assert discs.x.tolist() == [1.0, 2.0, 3.0]
    assert discs.y.tolist() == [5.0, 5.0, 5.0]
    assert discs.radius.tolist() == [0.5, 0.5, 1.0]


def test_nothing_is_drawn_of_empty_columns() -> None:
    discs = Discs(np.zeros(0), np.zeros(0), 1.0)
    assert discs.radius.shape == (0,)


def test_marks_do_not_follow_the_arrays_that_they_were_made_of() -> None:
    x, pixels = np.zeros(2), np.zeros((1, 1, 3), dtype=np.uint8)
    discs, image = Discs(x, x, 1.0), Image(0, 0, 1, 1, pixels)
    x[:], pixels[:] = 9.0, 9
    assert discs.x.tolist() == [0.0, 0.0]
    assert image.pixels.max() == 0


BAD_MARKS: list[tuple[Callable[[], Any], str]] = [
    (lambda: Discs([0.0, math.nan], 0.0, 1.0), r"Discs: x\[1\] is nan, expected a finite number"),
    (lambda: Discs(0.0, math.inf, 1.0), r"Discs: y\[0\] is inf, expected a finite number"),
    (lambda: Discs([1, 2], [1, 2, 3], 1), "Discs: columns of different lengths: x 2, y 3, radius 1"),
    (lambda: Discs("here", 0, 1), "Discs: x='here', expected numbers"),
    (lambda: Discs(np.zeros((2, 2)), 0, 1), r"Discs: x has shape \(2, 2\), expected one number or a row of them"),
    (lambda: Discs(0, 0, 1, fill=(255, 0, 0)), r"Discs: fill=\(255, 0, 0\), expected a colour's name or None"),
    (lambda: Discs(0, 0, 1, line_width=-1), "Discs: line_width=-1, expected a number of at least 0"),
    (lambda: Segments(0, 0, 1, 1, opacity=math.nan), "Segments: opacity=nan, expected a number of at least 0"),
    (lambda: Polyline([0, 1], [0, 1], line_width="thick"), "Polyline: line_width='thick', expected a number"),
    (lambda: Text(0, 0, "a", 1, align="middle"), "Text: align='middle', expected one of left, center, right"),
    (lambda: Text(0, 0, "a", "big"), "Text: size='big', expected a number of at least 0"),
    (lambda: Image(0, 0, 1, 1, np.zeros((2, 2, 3))), r"shape \(2, 2, 3\) and dtype float64, expected .* uint8"),
    (lambda: Image(0, 0, 1, 1, np.zeros((2, 2), np.uint8)), r"shape \(2, 2\) and dtype uint8, expected \(rows, col"),
    (lambda: Drawing((0, 0, 1), []), r"view=\(0, 0, 1\), expected \(left, bottom, right, top\)"),
    (lambda: Drawing((1, 0, 0, 1), []), "expected left < right and bottom other than top"),
    (lambda: Drawing((0, 1, 1, 1), []), "expected left < right and bottom other than top"),
    (lambda: Drawing((0, 0, math.inf, 1), []), "all finite"),
    (lambda: Drawing(VIEW, ["disc"]), "a mark is 'disc', expected one of Arrowheads, Discs"),
    (lambda: Drawing(VIEW, [], seconds=0), "seconds=0, expected a number above 0"),
    (lambda: Drawing(VIEW, [], seconds=math.nan), "seconds=nan, expected a number above 0"),
]


@pytest.mark.parametrize(("make", "message"), BAD_MARKS)
def test_what_cannot_be_drawn_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        make()


def test_sizes_of_views() -> None:
    up, down = Drawing((-1, 0, 3, 2), []), Drawing((-1, 2, 3, 0), [])
    assert (up.width, up.height) == (down.width, down.height) == (4.0, 2.0)


@pytest.mark.parametrize("colour", ["ink", "tagger", "#0a1B2c", None])
def test_known_colours(colour: str | None) -> None:
    check_colours(Drawing(VIEW, [Discs(0, 0, 1, fill=colour)]), ["ink", "tagger"])


@pytest.mark.parametrize("colour", ["taggr", "#12345", "#gggggg", ""])
def test_unknown_colours(colour: str) -> None:
    with pytest.raises(DeclarationError, match=f"Wedges: outline='{colour}' is no colour.*Known: #rrggbb, ink, tagger"):
        check_colours(Drawing(VIEW, [Wedges(0, 0, 1, 0, 1, outline=colour)]), ["ink", "tagger"])


def test_the_nearest_colour_is_suggested() -> None:
    with pytest.raises(DeclarationError, match=r"Did you mean 'tagger'\?"):
        check_colours(Drawing(VIEW, [Arrowheads(0, 0, 1, 0, fill="taggr")]), ["ink", "tagger"])


def kinds_of(base: type[Mark]) -> set[type[Mark]]:
    """The classes that are made of a base and that no other class is made of."""
    below = base.__subclasses__()
    return set().union(*map(kinds_of, below)) if below else {base}


def test_every_kind_is_listed() -> None:
    assert set(MARKS.values()) == kinds_of(Mark)
    assert MARKS["Rectangles"] is Rectangles


def test_a_style_is_given_by_keyword() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        Discs(0, 0, 1, "ink")  # type: ignore[misc]
    with pytest.raises(TypeError, match="fill"):
        Segments(0, 0, 1, 1, fill="ink")  # type: ignore[call-arg]


def test_places_of_agents() -> None:
    drawing = Drawing((0, 0, 1, 1), [], places=([0.5, np.nan], 0.25))
    assert drawing.places.tolist() == [[0.5, pytest.approx(np.nan, nan_ok=True)], [0.25, 0.25]]
    for wrong, expected in (((1, [[2]]), "a finite number or NaN"), ((1,), "a number for each agent"), (7, "a number")):
        with pytest.raises(DeclarationError, match=rf"Drawing: places=.*, expected \(x, y\) with {expected}"):
            Drawing((0, 0, 1, 1), [], places=wrong)
    with pytest.raises(DeclarationError, match=r"with a finite number or NaN for each agent"):
        Drawing((0, 0, 1, 1), [], places=([np.inf], [0.0]))


def test_places_of_choices() -> None:
    drawing = Drawing((0, 0, 1, 1), [], choices=[[0, 0, 1, 1], [np.nan] * 4])
    assert drawing.choices[0].tolist() == [0.0, 0.0, 1.0, 1.0] and np.isnan(drawing.choices[1]).all()
    for wrong in (7, [0, 1], [[0, 1, 2]], [["a", 1, 2, 3]], [[0, 0, np.inf, 1]]):
        with pytest.raises(DeclarationError, match=r"Drawing: choices=.*, expected 4 finite numbers or NaN for each"):
            Drawing((0, 0, 1, 1), [], choices=wrong)
