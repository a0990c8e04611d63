"""docs/from-megastep.md, followed from its first line to its last in an empty folder."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import DOCS, page, shown
from tests.docs.reader import Reader, ReaderMaker
from warpworld import blocks
from warpworld.environment import get_environment
from warpworld.eyes.indoor import IndoorParams

pytestmark = pytest.mark.cpu_backend

PAGE = page("from-megastep")


def follow(reader: Reader) -> str:
    """Type the page; what ``warpworld eval`` printed."""
    evaluated = ""
    for block in shown(PAGE):
        reader.follow(block)
        evaluated = reader.printed if reader.last == "eval" else evaluated
    return evaluated


@pytest.mark.usefixtures("optimised")
@pytest.mark.heavy
@pytest.mark.long
def test_the_page_can_be_followed(make_reader: ReaderMaker) -> None:
    """With a short training instead of the page's, which a slow test takes."""
    assert follow(make_reader("roamers", shorter=("trainer.total_env_steps=2048",)))


@pytest.mark.usefixtures("optimised")
@pytest.mark.slow
def test_roamers_learn(make_reader: ReaderMaker) -> None:
    mean, _, at_random = (float(number) for number in re.findall(r"\d+\.\d+", follow(make_reader("roamers"))))
    assert mean > 2.0 * at_random


def test_the_blocks_and_environments_of_the_tables_exist() -> None:
    modules = PAGE.partition("| modules ")[2].partition(" | [blocks]")[0]
    names = re.findall(r"`(\w+)`", modules)
    assert len(names) == 7 and all(hasattr(blocks, name) for name in names)
    assert {"res", "fov", "subsample", "fps"} <= IndoorParams.__dataclass_fields__.keys()
    table = PAGE.partition("## The environments")[2].partition("\n## ")[0]
    for name in ("explorer", "deathmatch", "waypoint", "point_goal"):
        assert f"`{name}`" in table and get_environment(name)


@pytest.mark.parametrize("name", ["from-megastep", "limits"])
def test_links_lead_to_pages_and_their_sections(name: str) -> None:
    links = re.findall(r"\]\(([\w-]+\.md)(?:#([^)]*))?\)", page(name))
    assert len(links) > 5
    for path, anchor in links:
        titles = re.findall(r"^#+ (.*)$", (DOCS / path).read_text(), re.MULTILINE)
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, (
            path
        )
