"""The page that plays a recording: its data are the recording's, and it needs nothing else."""

from __future__ import annotations

import base64
import dataclasses
import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.recorded_worlds import recording_of
from warpworld.config import load_config
from warpworld.drawing import (
    MARKS,
    Arrowheads,
    Discs,
    Image,
    Mark,
    Polygon,
    Polyline,
    Rectangles,
    Segments,
    Text,
    Wedges,
)
from warpworld.errors import RunError
from warpworld.report import replay
from warpworld.report.encoding import encode
from warpworld.report.recording import record
from warpworld.report.replay import replay_text, write_replay

PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
ALL_KINDS = [
    Discs([1, 2], [3.25, 3.5], 0.5, outline="muted", line_width=0.125),
    Rectangles(0, 0, [1, 2, 3], 4, fill=None, outline="#123456"),
    Arrowheads([1, 2], 3, 0.5, [0.25, 3.0], fill="a"),
    Wedges(1, 2, 3, -0.5, 1.25, opacity=0.25),
    Segments([0, 0], 1, [2, 2], [3, 4]),
    Polyline([0, 1, 2], [3, 3, 5], line_width=0.5),
    Polygon([0, 1, 2], [3, 3, 5], fill="b"),
    Text(1, 2, 'a < "b" & \u2028 é', 0.5, align="left"),
    Image(1, 2, 3, 4, PIXELS, opacity=0.5),
]


def decode_mark(fields: dict[str, Any]) -> Mark:
    """The mark that ``encode`` made an object of, with rounded numbers: what replay.js does."""
    rest = {name: value for name, value in fields.items() if name != "kind"}
    if "pixels" in rest:
        pixels = np.frombuffer(base64.b64decode(rest["pixels"]), np.uint8)
        rest["pixels"] = pixels.reshape(rest.pop("rows"), -1, 3)
    return MARKS[fields["kind"]](**rest)


def fields(mark: Mark) -> dict[str, Any]:
    values = {name: getattr(mark, name) for name in mark.__dataclass_fields__}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def data_of(page: str) -> dict[str, Any]:
    """What the page's script element holds."""
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    data: dict[str, Any] = json.loads(text)
    return data


def test_the_page_holds_the_drawings(tmp_path: Path) -> None:
    recording = recording_of(ALL_KINDS, ALL_KINDS[:3], view=(-1, 9, 9, -1), seconds=0.25)
    data = data_of(write_replay(recording, tmp_path / "replay.html").read_text(encoding="utf-8"))
    shown = [[decode_mark(data["marks"][i]) for i in indices] for indices in data["frames"]["marks"]]
    for frame, marks in zip(recording.frames, shown, strict=True):
        assert [type(mark) for mark in marks] == [type(mark) for mark in frame.drawing.marks]
        assert [fields(mark) for mark in marks] == [fields(mark) for mark in frame.drawing.marks]
    assert data["frames"]["view"] == [[-1.0, 9.0, 9.0, -1.0]]
    assert data["frames"]["seconds"] == [0.25]
    assert len(data["marks"]) == len(ALL_KINDS)  # what both frames show is there once


def test_the_page_holds_what_happened() -> None:
    data = encode(recording_of([], [], [], [], ends={1: "terminated", 3: "truncated"}))
    frames = data["frames"]
    assert frames["episode"] == [1, 1, 2, 2]
    assert frames["timestep"] == [0, 1, 0, 1]
    assert frames["end"] == ["", "terminated", "", "truncated"]
    assert frames["returns"] == [[0.0, 0.0, 0.0], [1.0, 0.0, 0.5]] * 2
    assert frames["rewards"] == frames["returns"]
    assert frames["places"] is None
    groups = [("a", 0, 1), ("b", 1, 2)]
    assert data["groups"] == [{"name": name, "first": first, "size": size, "stride": 1} for name, first, size in groups]
    assert {"a", "b", "ink", "paper"} <= data["colours"].keys()


@given(
    extent=st.floats(1e-6, 1e6),
    places=st.lists(st.floats(0, 1), max_size=5),
    angle=st.floats(-10, 10),
)
def test_numbers_are_close_to_what_they_were(extent: float, places: list[float], angle: float) -> None:
    x = np.array(places) * extent
    mark = Arrowheads(x, extent / 3, extent / 50, angle, line_width=extent / 500, opacity=0.7)
    data = encode(recording_of([mark], view=(0, 0, extent, extent)))
    decoded = decode_mark(data["marks"][0])
    assert isinstance(decoded, Arrowheads)
    assert decoded.x.shape == x.shape
    for name in ("x", "y", "length"):
        assert np.abs(getattr(decoded, name) - getattr(mark, name)).max(initial=0) <= extent / 1000
    assert np.abs(decoded.direction - mark.direction).max(initial=0) <= 0.006
    assert abs(decoded.line_width - mark.line_width) <= extent / 10000
    assert decoded.opacity == 0.7


def test_the_page_loads_nothing(tmp_path: Path) -> None:
    page = write_replay(recording_of(ALL_KINDS), tmp_path / "replay.html").read_text(encoding="utf-8")
    assert re.findall(r"https?://|//[a-z]|@import|url\(", page.replace("// ", "")) == []
    assert re.findall(r'(?:src|href)="(?!data:)', page) == []
    assert "$" not in re.sub(r"\$\{.*?\}", "", page)  # no part of the template is left


def test_names_cannot_break_out(tmp_path: Path) -> None:
    trap = '</script><img src="x" onerror="alert(1)"><!--'
    recording = recording_of([Text(1, 1, trap, 1)], about=trap)
    page = write_replay(recording, tmp_path / "replay.html").read_text(encoding="utf-8")
    assert "<img" not in page
    assert "<!--" not in page
    data = data_of(page)
    assert (data["about"], data["marks"][0]["text"]) == (trap, trap)


@pytest.mark.long
def test_many_agents_and_steps_stay_small() -> None:
    config = load_config("tag_continuous", ["trainer.device=cpu", "env.runner_exits_game_after_tagged=false"])
    recorded = record(config, dict.fromkeys(config.policy))
    assert len(recorded.frames) == 501
    assert len(replay_text(recorded)) < 5e6


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"replay.html' cannot be written: "):
        write_replay(recording_of([]), tmp_path / "file" / "replay.html")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_recording_shows_itself_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = recording_of(ALL_KINDS, [], [], ends={1: "terminated"})
    assert repr(recording) == "<Recording toy: 2 episodes, 3 frames, by hand>"
    assert repr(recording_of([])) == "<Recording toy: 1 episode, 1 frames, by hand>"
    assert len(repr(recording.frames[0])) < 200
    shown = recording._repr_html_()
    assert shown is not None
    (inner,) = re.findall(r'^<iframe srcdoc="([^"]*)" style="[^"]*"></iframe>$', shown)
    assert data_of(html.unescape(inner)) == json.loads(replay_text(recording))
    monkeypatch.setattr(replay, "LARGEST_IN_NOTEBOOK", 1000)
    assert recording._repr_html_() is None


def test_names_of_actions_are_in_the_replay() -> None:
    recording = recording_of([])
    group = next(iter(recording.groups.values()))
    named = dataclasses.replace(group, action_names=("left", "right"))
    groups = {**recording.groups, named.name: named}
    first, *others = encode(dataclasses.replace(recording, groups=groups))["groups"]
    assert first["actions"] == ["left", "right"]
    assert all("actions" not in other for other in others)
