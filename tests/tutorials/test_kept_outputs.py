"""What is kept of a notebook's outputs: light ones, in a form that does not change from one run to the next."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest

pytest.importorskip("nbclient")
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from tests.tutorials.notebooks import LARGEST_PICTURE, LARGEST_TEXT, kept, text_of


def png(mode: str, size: tuple[int, int] = (60, 40)) -> str:
    """A picture of noise in base64."""
    file = io.BytesIO()
    Image.effect_noise(size, 100).convert(mode).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def outputs_kept(*outputs: Any) -> list[Any]:
    """What stays of a cell's outputs."""
    cell = new_code_cell("1 + 1", outputs=list(outputs), execution_count=7, metadata={"tags": ["varies"], "own": 1})
    (found,) = kept(new_notebook(cells=[cell], metadata={"own": 1})).cells
    assert (found.execution_count, found.metadata) == (None, {"tags": ["varies"]})
    return found.outputs


def result(**data: str) -> Any:
    """A cell's result in these forms."""
    return new_output(
        "execute_result", {kind.replace("_", "/"): text for kind, text in data.items()}, execution_count=7
    )


def test_text_and_tables_stay() -> None:
    (said, shown) = outputs_kept(
        new_output("stream", name="stdout", text="hello\n"), result(text_plain="<World>", text_html="<table>")
    )
    assert said.text == "hello\n"
    assert shown.data == {"text/plain": "<World>", "text/html": "<table>"}
    assert shown.execution_count is None


@pytest.mark.parametrize(
    "heavy",
    [
        new_output("stream", name="stdout", text="x" * (LARGEST_TEXT + 1)),
        new_output("stream", name="stderr", text="a warning"),
        result(text_html="x" * (LARGEST_PICTURE + 1)),
        result(text_html="<iframe></iframe>"),
        result(application_javascript="alert()"),
        result(image_png=png("RGB", (400, 400))),
    ],
    ids=["long text", "warnings", "a long table", "a player", "a script", "a large picture"],
)
def test_what_is_heavy_or_foreign_is_left_out(heavy: Any) -> None:
    assert outputs_kept(heavy) == []


def test_a_result_stays_in_its_light_forms() -> None:
    (shown,) = outputs_kept(result(text_plain="<Recording>", text_html="<iframe></iframe>"))
    assert shown.data == {"text/plain": "<Recording>"}


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
def test_pictures_get_a_palette_once(mode: str) -> None:
    (first,) = outputs_kept(result(image_png=png(mode)))
    picture = Image.open(io.BytesIO(base64.b64decode(first.data["image/png"])))
    assert (picture.mode, picture.size) == ("P", (60, 40))
    (second,) = outputs_kept(first)
    assert second.data == first.data


def test_a_notebook_that_is_kept_is_kept_as_it_is_and_the_given_one_is_left_alone() -> None:
    notebook = new_notebook(cells=[new_code_cell("1", outputs=[result(image_png=png("RGB"))])])
    before = text_of(notebook)
    once = kept(notebook)
    assert text_of(notebook) == before
    assert text_of(kept(once)) == text_of(once)
