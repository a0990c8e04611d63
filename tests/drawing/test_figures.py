"""The frame of figures: its look, and the file."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pytest

from warpworld.drawing.figures import INK, figure
from warpworld.errors import RunError


def drawn(path: Path) -> bytes:
    with figure(path, 2.0, 1.0, "a title", dpi=50) as page:
        axes = page.subplots()
        axes.plot([1, 2, 4])
        axes.set(xlabel="below")
    return path.read_bytes()


def test_the_same_is_drawn_whatever_the_users_settings_are(tmp_path: Path) -> None:
    before = drawn(tmp_path / "one.png")
    with matplotlib.rc_context({"text.color": "red", "lines.linewidth": 5.0, "savefig.dpi": 300}):
        assert drawn(tmp_path / "two.png") == before
        assert matplotlib.rcParams["text.color"] == "red"  # which is the user's again
    assert b"Matplotlib" not in before  # a version would change the file


def test_a_figure_has_the_palettes_colours_and_no_frame(tmp_path: Path) -> None:
    with figure(tmp_path / "a.png", 2.0, 1.0, "a title") as page:
        axes = page.subplots()
    assert page.get_suptitle() == "a title"
    assert axes.xaxis.label.get_color() == INK
    assert [side for side, spine in axes.spines.items() if spine.get_visible()] == ["left", "bottom"]


def test_nothing_is_written_of_a_figure_that_is_not_finished(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), figure(tmp_path / "a.png", 2.0, 1.0):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
    with pytest.raises(RunError, match=r"nowhere/a.png' cannot be written"), figure(tmp_path / "nowhere/a.png", 2, 1):
        pass
