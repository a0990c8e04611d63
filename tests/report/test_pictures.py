"""GIFs and videos: right pixels at known places, the right frames for the right time."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from tests.report.recorded_worlds import recording_of
from warpworld.drawing import (
    Arrowheads,
    Discs,
    Drawing,
    Image,
    Mark,
    Polygon,
    Polyline,
    Rectangles,
    Segments,
    Text,
    Wedges,
)
from warpworld.drawing.canvas import paint
from warpworld.drawing.palette import SERIES, colour_table, rgb
from warpworld.errors import RunError
from warpworld.report import pictures
from warpworld.report.pictures import CAPTION, write_gif, write_mp4

UP, DOWN = (0.0, 0.0, 10.0, 10.0), (0.0, 10.0, 10.0, 0.0)
COLOURS = {name: light for name, (light, _) in colour_table(["a", "b"]).items()}
PAPER, BLUE, ORANGE = (255, 255, 255), rgb(SERIES[0]), rgb(SERIES[1])
FOUR_PIXELS = np.array([[BLUE, ORANGE], [ORANGE, ORANGE]], dtype=np.uint8)


def at(image: Pillow.Image, x: float, y: float, up: bool = True) -> tuple[int, ...]:
    """The colour at a place of a view of 10 x 10."""
    pixel = x * image.width / 10, (10 - y if up else y) * image.height / 10
    colour = image.getpixel((int(pixel[0]), int(pixel[1])))
    assert isinstance(colour, tuple)
    return colour


SHAPES: list[tuple[Mark, list[tuple[float, float]], list[tuple[float, float]]]] = [  # mark, places inside, outside
    (Discs([2, 8], 3, 1, fill="a"), [(2, 3), (2.6, 3.6), (8, 2.2)], [(2.9, 3.9), (5, 3), (2, 6)]),
    (Discs(5, 5, 3, fill=None, outline="a", line_width=1), [(8, 5), (5, 2), (7.1, 7.1)], [(5, 5), (9, 5), (7, 5)]),
    (Rectangles([1, 6], 2, 2, [1, 4], fill="a"), [(1.2, 2.2), (2.8, 2.8), (7, 5.8)], [(2, 3.3), (5, 2.5), (8.3, 3)]),
    (Arrowheads(5, 5, 5, np.pi / 2, fill="a"), [(5, 7.5), (5, 4.5), (6.4, 3.3)], [(5, 3.4), (7.5, 5), (2.5, 5)]),
    (Arrowheads(5, 5, 5, 0.0, fill="a"), [(7.5, 5)], [(5, 7.5), (2.5, 5)]),
    (Wedges(5, 5, 4, np.pi / 2, 1.0, fill="a"), [(5, 8.5), (6, 8)], [(5, 4), (8, 5), (2, 5)]),
    (Segments([1, 1], [2, 8], 9, [2, 8], outline="a", line_width=1), [(5, 2), (5, 8)], [(5, 5), (5, 3)]),
    (Polyline([1, 9, 9], [1, 1, 9], outline="a", line_width=1), [(5, 1), (9, 5)], [(5, 5), (3, 3)]),
    (Polygon([1, 9, 9], [1, 1, 9], fill="a"), [(8, 2), (5, 3)], [(2, 6), (5, 6)]),
    (Image(2, 2, 6, 6, FOUR_PIXELS), [(3, 7), (4.5, 5.5)], [(1, 7), (7, 7), (3, 3), (7, 3)]),
]


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize(("mark", "inside", "outside"), SHAPES, ids=lambda value: getattr(value, "kind", ""))
def test_shapes(mark: Mark, inside: list[tuple[float, float]], outside: list[tuple[float, float]], up: bool) -> None:
    image = paint(Drawing(UP if up else DOWN, [mark]), 200, 200, COLOURS)
    if isinstance(mark, Image) and not up:  # its top row is the picture's, wherever y points
        inside, outside = [(x, 10 - y) for x, y in inside], [(x, 10 - y) for x, y in outside]
    assert {at(image, x, y, up) for x, y in inside} == {BLUE}
    assert BLUE not in {at(image, x, y, up) for x, y in outside}


@pytest.mark.parametrize(("align", "dark_side"), [("left", "right"), ("right", "left"), ("center", "both")])
def test_text(align: str, dark_side: str) -> None:
    image = paint(Drawing(UP, [Text(5, 5, "MMMM", 2, align=align)]), 200, 200, COLOURS)
    dark = np.asarray(image.convert("L")) < 128
    sides = {"left": dark[:, :95].any(), "right": dark[:, 105:].any()}
    assert {side for side, there in sides.items() if there} == (
        {"left", "right"} if dark_side == "both" else {dark_side}
    )
    rows = np.flatnonzero(dark.any(1))
    assert 80 <= rows.min() < 100 < rows.max() <= 120


def test_later_marks_cover_earlier_ones_as_far_as_they_are_opaque() -> None:
    ground = Rectangles(0, 0, 10, 10, fill="#000000")
    image = paint(Drawing(UP, [ground, Discs(5, 5, 2, fill="#ffffff", opacity=0.5)]), 100, 100, COLOURS)
    assert at(image, 1, 1) == (0, 0, 0)
    assert at(image, 5, 5) == (128, 128, 128)


def test_a_view_is_fitted_into_the_middle() -> None:
    image = paint(Drawing((0, 0, 20, 10), [Rectangles(0, 0, 20, 10, fill="a")]), 100, 100, COLOURS)
    assert [image.getpixel((50, y)) for y in (20, 30, 70, 80)] == [PAPER, BLUE, BLUE, PAPER]


def disc(x: float) -> list[Mark]:
    return [Rectangles(0, 0, 10, 10, fill="ground"), Discs(x, 5, 1, fill="a")]


def test_gif(tmp_path: Path) -> None:
    recording = recording_of(*(disc(x) for x in (2, 4, 6, 8)), ends={3: "terminated"}, seconds=0.05)
    path = write_gif(recording, tmp_path / "replay.gif", size=200)
    with Pillow.open(path) as gif:
        assert gif.size == (200, 200 + CAPTION)
        assert gif.n_frames == 4
        assert gif.info["loop"] == 0
        for i in range(4):
            gif.seek(i)
            frame = gif.convert("RGB").crop((0, 0, 200, 200))
            assert [at(frame, x, 5) == BLUE for x in (2, 4, 6, 8)] == [j == i for j in range(4)]
            assert at(frame, 0.2, 9.8) == rgb(COLOURS["ground"])
            assert gif.info["duration"] == (50 if i < 3 else 1050)


def test_long_recordings_leave_frames_out_but_no_ends(tmp_path: Path) -> None:
    recording = recording_of(*(disc(x) for x in range(10)), ends={4: "terminated", 9: "truncated"})
    kept = pictures.chosen(recording, 4)
    assert [(entry.frame.episode, entry.frame.timestep) for entry in kept] == [
        (1, 0),
        (1, 3),
        (1, 4),
        (2, 0),
        (2, 3),
        (2, 4),
    ]
    assert [entry.seconds for entry in kept] == pytest.approx([0.3, 0.3, 1.3] * 2)
    with Pillow.open(write_gif(recording, tmp_path / "replay.gif", size=200, frames=4)) as gif:
        assert gif.n_frames == 6


def test_mp4(tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    recording = recording_of(*(disc(x) for x in (2, 4, 6, 8)), ends={3: "terminated"})
    path = write_mp4(recording, tmp_path / "replay.mp4", size=201)
    frames = ffmpeg.read_frames(str(path))
    about = next(frames)
    assert about["codec"].startswith("h264")
    assert about["fps"] == 10.0
    images = [Pillow.frombytes("RGB", about["size"], frame) for frame in frames]
    assert len(images) == 3 + 11  # the last one stays for a second more
    for image, x in zip(images, (2, 4, 6, *[8] * 11), strict=True):
        picture = np.asarray(image).astype(int)
        assert np.abs(picture[100, round(x * 20.1)] - BLUE).max() < 24
        assert np.abs(picture[100, 5] - rgb(COLOURS["ground"])).max() < 24
    assert [entry.name for entry in tmp_path.iterdir()] == ["replay.mp4"]


def test_mp4_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(RunError, match=r"needs the imageio-ffmpeg package.*pip install 'warpworld\[video\]'"):
        write_mp4(recording_of(disc(1)), tmp_path / "replay.mp4")
    assert list(tmp_path.iterdir()) == []


def test_the_caption_tells_returns_and_step() -> None:
    recording = recording_of(disc(2), disc(2))
    first, second = (np.asarray(pictures.picture(recording, frame, 300)) for frame in recording.frames)
    assert (first[:300] == second[:300]).all()
    changed = np.flatnonzero((first[300:] != second[300:]).any((0, 2)))
    assert changed.min() < 100 < 200 < changed.max()  # the returns on the left, the step on the right
    assert {BLUE, ORANGE} <= {tuple(pixel) for pixel in first[300:].reshape(-1, 3).tolist()}


def test_a_narrow_caption_leaves_out_the_step_before_a_group() -> None:
    empty = recording_of([])
    named = dict(zip(("taggers", "runners"), empty.groups.values(), strict=True))
    recording = replace(empty, groups=named)
    for size, step_fits in ((400, True), (240, False)):
        caption = np.asarray(pictures.picture(recording, recording.frames[0], size))[size:]
        found = {tuple(pixel) for pixel in caption.reshape(-1, 3).tolist()}
        assert {BLUE, ORANGE} <= found
        assert (caption[:, -40:] < 200).any() == step_fits
