"""The gallery: its page is what the results and runs say, and every run can be played."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.experiments.references import REFERENCES
from tests.docs.pages import DOCS
from tools import write_gallery
from warpworld.packaged import packaged_names
from warpworld.runs import Run
from warpworld.trainers.evaluate import load_policies

RUNS = Path(write_gallery.__file__).resolve().parents[1] / "benchmarks" / "gallery" / "runs"


def test_the_page_is_what_make_gallery_writes() -> None:
    assert (DOCS / "gallery.md").read_text() == write_gallery.page(), "make gallery writes it anew"


@pytest.mark.parametrize("name", sorted(path.name for path in RUNS.iterdir()))
def test_every_run_can_be_played(name: str) -> None:
    run = Run.open(RUNS / name)
    assert run.config.name == name
    assert set(load_policies(run, "best")) == set(run.config.policy)
    assert (DOCS / "images" / "gallery" / f"{name}.gif").exists()


def test_every_environment_is_on_the_page() -> None:
    text = (DOCS / "gallery.md").read_text()
    assert [name for name in packaged_names() if f"**`{name}`**" not in text] == []


def test_references_are_those_of_environments_on_the_page() -> None:
    assert sorted(set(REFERENCES) - set(packaged_names())) == []
