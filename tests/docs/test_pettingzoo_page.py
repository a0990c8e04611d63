"""docs/pettingzoo.md: every block is run, and prints what stands below it; its table of words is the class's."""

from __future__ import annotations

import re

import pytest

import warpworld
from tests.docs.pages import page, shown
from tests.docs.reader import ReaderMaker

PAGE = page("pettingzoo")


@pytest.mark.slow
@pytest.mark.cpu_backend
def test_every_block_prints_what_the_page_shows(make_reader: ReaderMaker) -> None:
    reader = make_reader(one_session=True)
    for block in shown(PAGE):
        reader.follow(block)


def test_the_words_are_the_class_s() -> None:
    from warpworld.adapters.parallel_vector import ParallelVectorEnv

    envs = warpworld.make("tag_gridworld", 2, api="parallel_vector", device="cpu")
    table = PAGE.partition("## Whose words these are")[2].partition("AgileRL's vector")[0]
    words = [word for row in table.splitlines() for word in re.findall(r"`([^`]+)`", row.partition(" | ")[0])]
    named = {word.partition("(")[0] for word in words if not word.startswith('"')}
    public = {name for name in dir(envs) if not name.startswith("_")} | {"copy"}
    assert isinstance(envs, ParallelVectorEnv)
    assert named == public - {"world", "unwrapped", "render_mode"}
