"""The pages of docs/, as tests read them: what a page shows is what is run."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    """The text of ``docs/NAME.md``."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """What stands in the fenced blocks of one language, in order."""
    return [block for found, block in _BLOCK.findall(text) if found == language]
