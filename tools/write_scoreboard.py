"""Writes ``docs/scoreboard.md``: published tables beside what `warpworld reproduce` has reached.

Tables are those that come with the package, in ``configs/reproduce``; results are the ``results.json`` of the command,
kept as ``benchmarks/results/scoreboard/TABLE.json``. A table without results says so. Trials of the command, and
results of other settings than the table's, are refused. ``make scoreboard`` runs this; a test holds the page to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from warpworld.cli.reproduce import Results, TableFile, markdown, read_results
from warpworld.cli.reproduce.picture import draw_table
from warpworld.errors import RunError
from warpworld.packaged import packaged_tables

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURES = ROOT / "docs" / "scoreboard.md", ROOT / "docs" / "images"
RESULTS = ROOT / "benchmarks" / "results" / "scoreboard"
HEAD = """# Scoreboard

Results that others have published, and those of warpworld on the same tasks. A table's tasks, settings, seeds and
references stand in one file of `configs/reproduce`. `warpworld reproduce TABLE` trains the table again and writes the
same columns as here; [Published tables](reproduce.md) describes the command and the files.

No setting was chosen with the seeds that are shown. "Ours" is the interquartile mean over the seeds with its 95 %
bootstrap interval ([Agarwal et al. 2021](https://arxiv.org/abs/2108.13264)), beside what was wanted. The
column behind the seeds has the other kind of play: the likeliest actions where scores are of drawn ones, and drawn ones
where scores are of the likeliest. CPU s is the processor time of a training, all threads together, of the fastest and
the slowest seed. What was not trained with the table's settings is not run.

`make scoreboard` writes this page.
"""


def page(results: Path = RESULTS) -> str:
    """The page's text.

    Args:
        results: folder of the committed results.

    Raises:
        RunError: a file is a trial, of other settings than its table's, or of no table.
    """
    unknown = sorted({path.stem for path in results.glob("*.json")} - set(packaged_tables()))
    if unknown:
        raise RunError(f"'{results}' holds results of {', '.join(unknown)}, which are no names of tables")
    return "\n".join([HEAD, *(line for name in packaged_tables() for line in _table(name, results))])


def _table(name: str, folder: Path) -> Iterator[str]:
    file = TableFile(name)
    results = results_of(file, folder)
    yield f"## {name}\n"
    picture = Path("images") / f"scoreboard-{name}.png" if results is not None else None
    yield from markdown(file.table, results, picture)
    yield f"`warpworld reproduce {name}` repeats it.{_conditions(results)}\n"


def results_of(file: TableFile, folder: Path) -> Results | None:
    """The committed results of a table; None where there are none.

    Raises:
        RunError: they are a trial, or of other settings than the table's.
    """
    path = folder / f"{file.name}.json"
    if not path.exists():
        return None
    results = read_results(path)
    if results.quick:
        raise RunError(f"'{path}' holds a quick trial, expected results of `warpworld reproduce {file.name}`")
    planned = {task.name: task for task in file.recorded()}
    for name, found in results.tasks.items():
        task = planned.get(name)
        if task is None or found.words != task.words:
            raise RunError(f"'{path}': task '{name}' was trained with other settings than the table's: train it again")
        fresh = range(task.seed, task.seed + task.seeds)
        strange = [each.seed for each in found.seeds if each.seed not in fresh]
        if strange:
            raise RunError(f"'{path}': task '{name}' has seed {strange[0]}, expected {fresh.start} to {fresh.stop - 1}")
    return results


def _conditions(results: Results | None) -> str:
    """A sentence on the machines and the commits of the results."""
    if results is None:
        return ""
    seeds = [seed for task in results.tasks.values() for seed in task.seeds]
    facts = [
        sorted({str(seed.conditions.get(key, "unknown"))[:length] for seed in seeds})
        for key, length in (("device", None), ("cores", None), ("commit", 8))
    ]
    return " Trained on {}, {} cores, at {}.".format(*(", ".join(each) for each in facts))


def main() -> None:
    """Write the page and its pictures."""
    PAGE.write_text(page(), encoding="utf-8")
    for name in packaged_tables():
        file = TableFile(name)
        results = results_of(file, RESULTS)
        if results is not None:
            draw_table(file.table, results, name, PICTURES / f"scoreboard-{name}.png")


if __name__ == "__main__":
    main()
