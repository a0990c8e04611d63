"""The one place that turns ``pretrained:NAME`` into a folder, for all that takes a run."""

from __future__ import annotations

from pathlib import Path

from warpworld.errors import RunError, suggest
from warpworld.packaged import PRETRAINED, pretrained_folder, pretrained_runs
from warpworld.runs.pretrained.description import check_format


def resolved_run(path: str | Path) -> Path:
    """The folder of a run: a pretrained policy's for ``pretrained:NAME``, else the path itself, there or not.

    Raises:
        RunError: there is no pretrained policy of that name, or this version cannot read it.
    """
    text = str(path)
    if not text.startswith(PRETRAINED):
        return Path(path)
    name, found = text.removeprefix(PRETRAINED), pretrained_runs()
    if name not in found:
        known = ", ".join(found) or "none"
        raise RunError(f"there is no pretrained policy '{name}'.{suggest(name, found)} Known: {known}")
    check_format(found[name])
    return found[name]


def is_pretrained(path: Path) -> bool:
    """Whether a folder belongs to the package, so that nothing may be written into it."""
    return path.resolve().parent == pretrained_folder()
