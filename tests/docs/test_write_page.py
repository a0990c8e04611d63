"""docs/write-an-environment.md, followed from its first line to its last in an empty folder."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from tests.docs.pages import changed, files, page, shown
from tests.docs.reader import ReaderMaker
from warpworld import Group
from warpworld.environment import action_heads, action_layout, action_parts, observation_parts
from warpworld.managers.c_types import C_TYPES
from warpworld.policies import observation_size

pytestmark = pytest.mark.cpu_backend

PAGE = page("write-an-environment")


@pytest.mark.usefixtures("optimised")
@pytest.mark.heavy
@pytest.mark.long
def test_the_page_can_be_followed(make_reader: ReaderMaker) -> None:
    reader = make_reader("skaters")
    for block in shown(PAGE):
        reader.follow(block)
    run, measured = sorted((reader.folder / "runs").iterdir())
    assert '"env/bumps"' not in (run / "metrics.jsonl").read_text()
    assert '"env/bumps"' in (measured / "metrics.jsonl").read_text()
    assert (run / "replay.html").is_file() and (run / "curve.png").is_file()
    assert "has no draw()" not in reader.printed


def test_what_the_page_shows_is_what_is_there() -> None:
    assert {name for name, _ in files(PAGE)} == {"skaters.py", "skaters.cu", "test_skaters.py", "skaters.yaml"}


def rows(first: str) -> list[list[str]]:
    """The cells of the table whose first heading that is, without the backticks around them."""
    table = PAGE.split(f"| {first} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split(" | ")] for row in table]


def test_what_is_said_of_observations() -> None:
    found = rows("observation")
    assert len(found) == 7
    for text, array, pointer, features, _ in found:
        space = eval(text, vars(spaces) | {"np": np})
        group = Group("agent", 1, space, spaces.Discrete(2))
        assert observation_size(group) == spaces.flatdim(space) == int(features)
        if isinstance(space, spaces.Dict):
            continue
        part = observation_parts(group)[""]
        assert f"{part.dtype} {part.shape}" == array
        assert C_TYPES[pointer.removesuffix("*")][0] == part.dtype


def test_what_is_said_of_actions() -> None:
    found = rows("action")
    assert len(found) == 5
    for text, array, values in found:
        space = eval(text, vars(spaces))
        if isinstance(space, spaces.Dict):
            assert len(action_parts(space)) == 2
            continue
        dtype, size = action_layout(space)
        assert f"{dtype} ({size},)" == array
        heads = action_heads(eval(text, vars(spaces)))
        if "to" in values:
            assert values == ", ".join(f"0 to {choices - 1}" for choices in heads)


def test_a_diff_that_fits_nowhere_is_told() -> None:
    assert changed("a\nb\nc\n", " a\n-b\n+B\n+\n\n-c\n+C\n") == "a\nB\n\nC\n"
    with pytest.raises(ValueError, match="found 0 times, not once:\nb\na\n"):
        changed("a\nb\n", " b\n-a\n")
    with pytest.raises(ValueError, match="found 2 times"):
        changed("a\na\n", "-a\n+b\n")
