"""The files of a table's results: results.json, table.md and curves.png."""

from __future__ import annotations

from pathlib import Path

from warpworld.cli.reproduce.picture import draw_table
from warpworld.cli.reproduce.results import Results
from warpworld.cli.reproduce.sections import Table
from warpworld.cli.reproduce.summary import markdown
from warpworld.drawing import make_folder, write_whole

RESULTS = "results.json"


def keep_results(results: Results, folder: Path) -> Path:
    """Write the numbers alone, so that a command that is killed has left them; raises RunError where it cannot."""
    make_folder(folder)
    results.write(folder / RESULTS)
    return folder / RESULTS


def write_table(table: Table, results: Results, folder: Path) -> list[Path]:
    """Write all files of a table.

    Args:
        table: its keys.
        results: of at least one task.
        folder: made where there is none.

    Returns:
        The files.

    Raises:
        RunError: one cannot be written.
    """
    numbers = keep_results(results, folder)
    title = f"{results.table}: a quick trial, no results" if results.quick else results.table
    picture = draw_table(table, results, title, folder / "curves.png")
    text = "\n".join([f"# {results.table}\n", *markdown(table, results, Path(picture.name))])
    return [write_whole(folder / "table.md", text), picture, numbers]
