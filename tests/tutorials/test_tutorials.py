"""The tutorials run from their first cell to their last, and print what is kept with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cases import often

pytest.importorskip("nbclient")

from tests.tutorials.notebooks import FOLDER, LARGEST_NOTEBOOK, VARIES, kept, read, run, text_of, tutorials

pytestmark = pytest.mark.cpu_backend

TAG = re.compile(r"<[a-z/][^>]*>")
FIGURES = re.compile(r"-?\d[\d.,:]*|\bnan\b")


def words(outputs: Sequence[Any]) -> list[str]:
    """What a cell shows, without figures, which differ between processors; of a picture, that there is one."""
    shown = []
    for output in outputs:
        data = {"text/plain": output.text} if output.output_type == "stream" else output.data
        for kind, text in sorted(data.items()):
            said = "" if kind == "image/png" else FIGURES.sub("", TAG.sub(" ", text))
            shown.append(f"{kind}: {' '.join(said.split())}")
    return shown


@pytest.mark.parametrize("path", tutorials(), ids=lambda path: path.stem)
def test_a_tutorial_is_kept_light(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == text_of(kept(read(path))), "make tutorials writes it as it is kept"
    assert len(text.encode()) <= LARGEST_NOTEBOOK
    assert "/tmp/" not in text, "what was printed names a folder of the machine that it was run on"


@pytest.mark.parametrize("path", tutorials(), ids=lambda path: path.stem)
def test_a_tutorial_has_a_title_and_explains_each_step(path: Path) -> None:
    cells = read(path).cells
    assert re.match(r"# \S", cells[0].source)
    kinds = [cell.cell_type for cell in cells]
    assert kinds.count("markdown") >= 5
    assert cells[-1].cell_type == "markdown", "it ends with where to go next"


@pytest.mark.parametrize("path", tutorials(), ids=lambda path: path.stem)
def test_what_a_tutorial_links_to_exists(path: Path) -> None:
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)#]+)", text)
    assert links
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []


def test_the_index_lists_every_tutorial_by_its_title() -> None:
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(.*?)\]\((.*?)\)", index, re.MULTILINE)
    titles = [(read(path).cells[0].source.splitlines()[0].removeprefix("# "), path.name) for path in tutorials()]
    assert listed == titles


@pytest.mark.slow
@pytest.mark.parametrize("path", often(tutorials()[:1], tutorials()), ids=lambda path: path.stem)
def test_a_tutorial_runs_and_prints_what_is_kept(path: Path, tmp_path: Path) -> None:
    before = read(path)
    after = kept(run(before, tmp_path))
    for expected, found in zip(before.cells, after.cells, strict=True):
        if expected.cell_type == "code" and VARIES not in expected.metadata.get("tags", []):
            assert words(found.outputs) == words(expected.outputs), expected.source
