"""docs/how-it-works.md: its snippets hold, and the files that it names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks, page
from tests.toys import agents, environment
from warpworld import World

pytestmark = pytest.mark.cpu_backend

PAGE = page("how-it-works")


def test_the_snippets_hold() -> None:
    scope: dict[str, object] = {}
    snippets = blocks(PAGE, "python")
    assert sum(snippet.count("assert ") for snippet in snippets) >= 6
    for snippet in snippets:
        exec(snippet, scope)


def test_agents_take_turns_as_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (kernel,) = blocks(PAGE, "cuda")
    source = tmp_path / "turns.cu"
    source.write_text(kernel)
    world = World(environment(source, groups=[agents(3)], resets=()), 2, device="cpu", num_workers=1)
    world.reset()
    capfd.readouterr()
    world.step()
    (shown,) = blocks(PAGE, "text")
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 2 * 3 * 2
    assert lines[:7] == shown.splitlines()


@pytest.mark.parametrize("name", ["how-it-works", "debugging"])
def test_links_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([^)#]+)(#[^)]*)?\)", page(name))
    assert links
    for path, anchor in links:
        assert (DOCS / path).is_file(), path
        if anchor:
            titles = re.findall(r"^#+ (.*)$", (DOCS / path).read_text(), re.MULTILINE)
            assert anchor[1:] in {title.lower().replace(" ", "-") for title in titles}
