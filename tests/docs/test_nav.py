"""The documentation as a whole: the site's nav has every page, and every link and anchor of a page leads somewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import warpworld
from tests.docs.pages import DOCS

PAGES = sorted(path for kind in ("md", "ipynb") for path in DOCS.rglob(f"*.{kind}"))
ROOT_PAGES = [DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)")
FENCED = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)


def navigated(entry: Any) -> Iterator[str]:
    """The pages of a part of the nav, in order."""
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from navigated(part)


def prose(path: Path) -> str:
    """A page's Markdown without its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return FENCED.sub("", text)


def anchors(path: Path) -> set[str]:
    """The names of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def broken(path: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in LINK.findall(prose(path)):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(link)
    return found


def test_the_nav_has_every_page_once() -> None:
    nav = list(navigated(yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    assert sorted(nav) == sorted(path.relative_to(DOCS).with_suffix(".md").as_posix() for path in PAGES)


@pytest.mark.parametrize("path", [*ROOT_PAGES, *PAGES], ids=lambda path: path.relative_to(DOCS.parent).as_posix())
def test_every_link_leads_somewhere(path: Path) -> None:
    assert broken(path) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b`, c\n\n[1](#a-b-c) [2](#d) [3](page.md#a-b-c) [4](none.md) [5](https://warpworld.example)\n"
    )
    assert broken(page) == ["#d", "none.md"]


def test_the_reference_has_every_public_name() -> None:
    shown = re.findall(r"^::: warpworld\.(\w+)$", "\n".join(prose(path) for path in PAGES), re.MULTILINE)
    assert set(warpworld.__all__) <= set(shown)
    assert len(shown) == len(set(shown))
