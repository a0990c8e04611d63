"""The gallery: its page is what the results and runs say, and every run can be played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.experiments.experiment import Experiment
from benchmarks.experiments.gallery import GALLERY
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


@pytest.mark.parametrize("experiment", GALLERY, ids=lambda experiment: experiment.name)
def test_claims_hold_and_would_not_after_a_large_loss(experiment: Experiment) -> None:
    """Of the committed results: the seed that earns least, without half of its gain over random play, misses it."""
    path = write_gallery.RESULTS / f"{experiment.name}-2-cores.json"
    runs = json.loads(path.read_text())["results"][experiment.name]
    assert all(experiment.holds(run["figures"]) and run["holds"] for run in runs)
    for key in (key for key in runs[0]["figures"] if key.endswith(("_greedy_return", "_drawn_return"))):
        figures = min((run["figures"] for run in runs), key=lambda figures, key=key: figures[key])
        at_random = figures[f"{key.rsplit('_', 2)[0]}_random_return"]
        assert not experiment.holds({**figures, key: (figures[key] + at_random) / 2}), key
