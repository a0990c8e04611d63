"""The pages of docs/, as tests read them: what a page shows is what is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"

_BLOCK = re.compile(r"(?:^([^\n]+)\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"`([\w-]+\.\w+)`:$")


class Shown(NamedTuple):
    """A fenced block of a page.

    Attributes:
        language: what stands behind its first fence.
        text: what it holds.
        file: the file that the line above it ends with, as in "Then `walk.py`:"; empty where there is none.
    """

    language: str
    text: str
    file: str = ""


def page(name: str) -> str:
    """The text of ``docs/NAME.md``."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def shown(text: str) -> list[Shown]:
    """All fenced blocks, in order."""
    found = []
    for above, language, block in _BLOCK.findall(text):
        named = _FILE.search(above)
        found.append(Shown(language, block, named[1] if named else ""))
    return found


def blocks(text: str, language: str) -> list[str]:
    """What stands in the fenced blocks of one language, in order."""
    return [block.text for block in shown(text) if block.language == language]


def files(text: str) -> list[tuple[str, str]]:
    """Name and contents of each file that a page shows whole, in order; a file may be shown again as it changes."""
    return [(block.file, block.text) for block in shown(text) if block.file and block.language != "diff"]


def changed(text: str, diff: str) -> str:
    """A file's text after a ``diff`` block, whose parts stand between empty lines, each at one place of the file.

    Raises:
        ValueError: a part is found nowhere in the file, or more than once.
    """
    for part in re.split(r"\n(?=\n)", diff.strip("\n")):
        lines = part.strip("\n").splitlines()
        old, new = ("".join(f"{line[1:]}\n" for line in lines if line[0] in kept) for kept in (" -", " +"))
        if text.count(old) != 1:
            raise ValueError(f"this is found {text.count(old)} times, not once:\n{old}")
        text = text.replace(old, new)
    return text
