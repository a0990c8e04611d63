"""docs/sweeps.md: its sweep is right, its table has every key with its default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import page, shown
from warpworld.cli.sweep.study import GRACE_SECONDS
from warpworld.cli.sweep.sweep_file import Sweep, SweepFile
from warpworld.runs.metrics.intervals import RESAMPLES

pytestmark = pytest.mark.cpu_backend


def test_the_sweep_is_right(tmp_path: Path) -> None:
    (block,) = (block for block in shown(page("sweeps")) if block.file == "rates.yaml")
    (tmp_path / block.file).write_text(block.text)
    file = SweepFile(tmp_path / block.file)
    assert (file.name, file.sweep.trials, len(file.sweep.search)) == ("rates", 20, 4)


def test_every_key_is_there_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", page("sweeps"), re.MULTILINE))
    assert list(rows) == list(Sweep.model_fields)
    for name, field in Sweep.model_fields.items():
        given = yaml.safe_load(rows[name].strip("`"))
        default = field.get_default()
        assert given == ("required" if field.is_required() else list(default) if default == () else default), name


def test_its_numbers() -> None:
    assert f"of {RESAMPLES:,} resamples" in page("sweeps") and f"after {GRACE_SECONDS} seconds" in page("sweeps")
