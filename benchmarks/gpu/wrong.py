"""The file of what a part found wrong: a line for each finding, written as it is found."""

from __future__ import annotations

import json
from pathlib import Path

NAME = "wrong.jsonl"
FOLDER = "WARPWORLD_GPU_FINDINGS"  # a variable: the folder in which a process that a part starts writes the file


def write_wrong(folder: Path, text: str) -> None:
    """Add a finding; processes that a part starts may write, too."""
    with (folder / NAME).open("a") as file:
        file.write(json.dumps(text) + "\n")


def read_wrong(folder: Path) -> list[str]:
    """All findings, in order; none where there is no file."""
    try:
        lines = (folder / NAME).read_text(errors="replace").splitlines()
    except OSError:
        return []
    return [_text_of(line) for line in lines]


def _text_of(line: str) -> str:
    """The text of a line; a line that was cut short is kept as it is."""
    try:
        return str(json.loads(line))
    except ValueError:
        return line
