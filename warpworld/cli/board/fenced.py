"""Runs of a folder that may be shown: those that lie in it, links followed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from warpworld.files import readable
from warpworld.runs import RunFolder, run_folders

READ = ("config.yaml", "metrics.jsonl", "timing.jsonl", "machine.json", "replay.html", "league.json")


def fenced_runs(folder: Path) -> dict[str, RunFolder]:
    """The runs of a folder by name, without those of which a file that the board reads lies outside of the folder.

    Raises:
        RunError: it is no folder, or cannot be read.
    """
    root = folder.resolve()
    return {readable(run.path.name): run for run in run_folders(folder) if _lies_within(run.path, root)}


def _lies_within(run: Path, root: Path) -> bool:
    return all(path.is_relative_to(root) for path in _places(run))


def _places(run: Path) -> Iterator[Path]:
    """Places where the run's folder and its files really lie."""
    folder = run.resolve()
    yield folder
    for name in READ:
        if (run / name).is_symlink():
            yield (folder / name).resolve()
    recorded = RunFolder(run).recorded.folder
    for path in (recorded, *recorded.glob("*.html")):
        if path.is_symlink():
            yield path.resolve()
