"""Pictures and recordings at their limits: the shortest frame, odd sizes, an episode that ends in two ways, colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow
from torch import Tensor

from tests.report.recorded_worlds import Plain, config_of, recording_of
from warpworld.drawing import Discs
from warpworld.drawing.array_drawing import coloured
from warpworld.drawing.palette import DARK_SERIES, ROLES, SERIES, rgb
from warpworld.report.pictures import CAPTION, picture, write_gif
from warpworld.report.recording import record

WHITE = [255, 255, 255]


def test_a_gif_shows_no_frame_for_less_than_a_fiftieth_of_a_second(tmp_path: Path) -> None:
    """Browsers show a shorter one for a tenth of a second."""
    recording = recording_of([Discs(2, 2, 1)], [Discs(4, 4, 1)], [Discs(6, 6, 1)], seconds=0.001)
    with Pillow.open(write_gif(recording, tmp_path / "replay.gif", size=200)) as gif:
        assert gif.n_frames == 3
        assert gif.info["duration"] == 20


@pytest.mark.parametrize(("view", "size"), [((0, 0, 10, 10), 301), ((0, 0, 10, 10), 300), ((0, 0, 10, 7), 303)])
def test_pictures_have_even_sizes(view: tuple[float, float, float, float], size: int) -> None:
    """As a video needs them; the paper is wider than the view, never narrower."""
    recording = recording_of([Discs(5, 5, 1)], view=view)
    image = picture(recording, recording.frames[0], size)
    height = round(size * view[3] / view[2])
    assert image.size == (size + size % 2, height + CAPTION + height % 2)


class Both(Plain):
    """Its first episode terminates in the step in which it is truncated."""

    def _step(self, arrays: Any, active: Tensor) -> None:
        super()._step(arrays, active)
        arrays["truncated"] = arrays["truncated"] | arrays["terminated"]


def test_an_episode_that_terminates_at_its_limit_has_terminated() -> None:
    frames = record(config_of(Both), {"left": None, "right": None}, episodes=2).frames
    assert [frame.end for frame in frames if frame.end] == ["terminated", "truncated"]


def test_colours_of_numbers_reach_as_far_below_zero_as_above() -> None:
    """By the larger magnitude of the two ends, so that 0 is white and equal numbers have equal depths."""
    cells = np.array([[-4.0, -2.0, 0.0, 2.0, np.nan]])
    below, half_below, zero, half_above, unknown = coloured(cells, -4.0, 2.0)[0].tolist()
    assert below == list(rgb(SERIES[1]))
    assert zero == WHITE
    assert half_below == pytest.approx(np.mean([WHITE, rgb(SERIES[1])], 0), abs=1)
    assert half_above == pytest.approx(np.mean([WHITE, rgb(SERIES[0])], 0), abs=1)
    assert len(set(unknown)) == 1 and unknown != WHITE
    assert coloured(np.array([[3.0]]), -1.0, 3.0)[0, 0].tolist() == list(rgb(SERIES[0]))


@pytest.mark.parametrize("page", [0, 1], ids=["light", "dark"])
def test_roles_and_series_can_be_told_apart(page: int) -> None:
    colours = [*(pair[page] for pair in ROLES.values()), *(SERIES, DARK_SERIES)[page]]
    numbers = np.array([rgb(colour) for colour in colours])
    apart = np.abs(numbers[:, None] - numbers).sum(-1) + 999 * np.eye(len(numbers), dtype=int)
    assert apart.min() >= 20
