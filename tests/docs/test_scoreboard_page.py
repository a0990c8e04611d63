"""The scoreboard: its page is what tables and committed results say, and nothing else counts as a result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import DOCS, page
from tools import write_scoreboard
from warpworld.cli.reproduce.results import Results, SeedResult, TaskResult
from warpworld.cli.reproduce.sections import Judged, Published, Rules, Source, Table, Task
from warpworld.cli.reproduce.summary import NOT_RUN
from warpworld.cli.reproduce.table_file import TableFile
from warpworld.errors import RunError
from warpworld.packaged import packaged_tables

pytestmark = pytest.mark.cpu_backend


def seed_result(seed: int) -> SeedResult:
    figures = {"drawn": 30.0 + seed, "greedy": 40.0, "at_random": 0.5, "cpu_seconds": 12.0, "seconds": 7.0}
    return SeedResult(seed=seed, env_steps=9, curve=((9.0, 1.0),), conditions={"commit": "0123456789"}, **figures)


def results(quick: bool = False, seeds: tuple[int, ...] = (101, 102), words: tuple[str, ...] = ()) -> Results:
    task = next(task for task in TableFile("minatar").recorded() if task.name == "asterix")
    found = TaskResult(words=task.words + words, seeds=tuple(map(seed_result, seeds)))
    return Results(table="minatar", quick=quick, greedy=False, overrides=words, tasks={"asterix": found})


def test_the_page_is_what_make_scoreboard_writes() -> None:
    assert (DOCS / "scoreboard.md").read_text() == write_scoreboard.page(), "make scoreboard writes it anew"


def test_every_seed_is_on_the_page_beside_what_others_report(tmp_path: Path) -> None:
    empty = write_scoreboard.page(tmp_path)
    results().write(tmp_path / "minatar.json")
    text = write_scoreboard.page(tmp_path)
    before, after = ([line for line in each.splitlines() if line.startswith("| asterix ")] for each in (empty, text))
    assert before[0].split(" | ")[:4] == ["| asterix", "22 to 25", "20 M, 0.63 min", NOT_RUN]
    assert after[0].split(" | ")[3:] == ["132; 2 of 5 seeds", "131, 132", "40", "9", "12 |"]
    assert text.count(NOT_RUN) == empty.count(NOT_RUN) - 1 and "at 01234567." in text


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("minatar", results(quick=True), "holds a quick trial, expected results of `warpworld reproduce minatar`"),
        ("minatar", results(words=("gamma=0.9",)), "task 'asterix' was trained with other settings than the table's"),
        ("minatar", results(seeds=(101, 7)), "task 'asterix' has seed 7, expected 101 to 105"),
        ("minatr", results(), "holds results of minatr, which are no names of tables"),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, given: Results, expected: str) -> None:
    given.write(tmp_path / f"{name}.json")
    with pytest.raises(RunError, match=re.escape(expected)):
        write_scoreboard.page(tmp_path)


def test_every_key_is_on_the_page_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.+?) \|", page("reproduce"), re.MULTILINE))
    sections = {"": Table, "judged.": Judged, "tasks.": Task, "published.": Published, "sources.": Source}
    fields = {
        f"{name}{key}": field
        for name, section in {**sections, "rules.": Rules}.items()
        for key, field in section.model_fields.items()
    }
    assert list(rows) == list(fields)
    for name, field in fields.items():
        given, default = yaml.safe_load(rows[name].strip("`")), field.get_default()
        assert given == ("required" if field.is_required() else [] if default == () else default), name


def test_the_page_of_the_command_shows_a_packaged_table() -> None:
    assert {name for name in packaged_tables() if f"`{name}`" in page("reproduce")} == set(packaged_tables())
