"""`llms.txt`: the site's pages in one list, each with its first sentence, for programs that read documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tools.site.files import Files

NAME = "llms.txt"
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SHORT = 20  # letters of a sentence that says nothing alone
_PROSE = re.compile(r"^[A-Z`*]")  # a paragraph, and no heading, table, list, picture or block of code


def with_llms(files: Files, settings: dict[str, Any]) -> Files:
    """Add the list to a site's files.

    Args:
        files: pages by path.
        settings: of the site: its ``site_name``, ``site_description`` and ``nav``.
    """
    lines = [f"# {settings['site_name']}", "", f"> {settings['site_description']}"]
    for section in settings["nav"]:
        ((title, entries),) = section.items()
        lines += ["", f"## {title}", ""]
        for page in _pages(entries):
            text = files[page].decode()
            lines.append(f"- [{_heading(text)}]({page.removesuffix('.md')}.html): {_first_sentence(text)}")
    return files | {NAME: "\n".join([*lines, ""]).encode()}


def _pages(entries: Any) -> Iterator[str]:
    """Paths of the pages below a part of the nav."""
    if isinstance(entries, str):
        yield entries
    elif isinstance(entries, dict):
        for below in entries.values():
            yield from _pages(below)
    else:
        for below in entries:
            yield from _pages(below)


def _heading(text: str) -> str:
    return next(line[2:].strip() for line in text.splitlines() if line.startswith("# "))


def _first_sentence(text: str) -> str:
    """The first sentence of a page's first paragraph, without links."""
    paragraphs = re.sub(r"^(```.*?^```|---.*?^---)", "", text, flags=re.MULTILINE | re.DOTALL).split("\n\n")
    prose = next((each for each in paragraphs if _PROSE.match(each.strip())), "")
    flat = _LINK.sub(r"\1", " ".join(prose.split()))
    sentences = re.split(r"(?<=[.?!])(?<!al\.)\s(?=[A-Z`])", flat)
    return sentences[0] if len(sentences[0]) > _SHORT else " ".join(sentences[:2])
