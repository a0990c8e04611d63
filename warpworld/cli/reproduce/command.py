"""`warpworld reproduce`: train a published table again, and put its numbers beside ours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import at_least
from warpworld.text import print_columns

if TYPE_CHECKING:
    from warpworld.cli.reproduce import Orders, Results, TableFile, Trainings

FOLDER = Path("reproduced")


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    reproduce = commands.add_parser(
        "reproduce",
        help="train a published table again, and compare",
        description="Train every task of a table from several seeds, judge what was learnt, and write table.md, "
        "curves.png and results.json into reproduced/TABLE. The same command again skips finished runs and continues "
        "the others. Without TABLE it lists the tables.",
    )
    reproduce.add_argument(
        "words",
        metavar="TABLE key=value",
        nargs="*",
        help="a packaged table or a YAML file, and overrides of all tasks, which are no longer the table's then",
    )
    reproduce.add_argument("--tasks", nargs="+", metavar="TASK", default=[], help="these alone (default: all)")
    reproduce.add_argument(
        "--quick",
        action="store_true",
        help="one seed and a small part of the budget: a trial, whose numbers mean nothing",
    )
    reproduce.add_argument("--jobs", type=at_least(1, 1024), help="runs that train at a time (default: one a core)")
    reproduce.add_argument("--show", action="store_true", help="judge and write what there is, and train nothing")
    reproduce.add_argument(
        "--against", type=Path, metavar="FILE", help="other results.json: how probably ours score more"
    )
    reproduce.add_argument(
        "--folder", type=Path, metavar="DIR", default=FOLDER, help="where results lie (default: reproduced)"
    )
    reproduce.set_defaults(command=_reproduce, settings="words")


def _reproduce(arguments: argparse.Namespace) -> int:
    from warpworld.cli.reproduce import TableFile, Trainings, compared, keep_results, listed_tables, read_results

    if not arguments.words:
        print_columns([["table", "about"], *listed_tables()])
        return 0
    # the table, and what its results are compared with
    source, *overrides = arguments.words
    file, quick = TableFile(source), arguments.quick
    file.check_names(arguments.tasks)
    against = read_results(arguments.against) if arguments.against is not None else None
    folder = arguments.folder / (f"{file.name}-quick" if quick else file.name)
    # runs of earlier commands, and those that are left
    trainings, status = Trainings(file, folder / "runs", quick, overrides), 0
    trainings.judge_finished()
    if not arguments.show:
        left = trainings.left(arguments.tasks or list(file.table.tasks))
        status = _train(trainings, left, arguments.jobs, lambda: keep_results(trainings.results(), folder))
    if file.table.cross_play and not status:
        trainings.cross_play()
    # results, also of a command that was stopped
    _show(file, trainings.results(), folder)
    if against is not None:
        print(compared(file.table, trainings.results(), against))
    return status


def _train(trainings: Trainings, left: Orders, jobs: int | None, keep: Callable[[], object]) -> int:
    """Train what is left; returns 0, or 128 and the number of the signal that ended it."""
    from warpworld.cli.sweep import Workers
    from warpworld.managers.cpu import available_cores
    from warpworld.trainers.session import StopOnSignal

    if not left:
        return 0
    jobs = min(len(left), jobs or available_cores())
    print(f"{len(left)} runs to train, {jobs} at a time", flush=True)
    with StopOnSignal(quiet=True) as signals:
        for task, result in trainings.run(left, Workers(jobs, quiet=True), signals):
            keep()
            scores = f"drawn {result.drawn:.4g}, greedy {result.greedy:.4g}"
            print(f"{task}, seed {result.seed}: {scores}; {result.cpu_seconds:.0f} CPU s", flush=True)
    if signals():
        print("stopped, with a checkpoint of each run; the same command continues them", file=sys.stderr)
        return signals.exit_status
    return 0


def _show(file: TableFile, results: Results, folder: Path) -> None:
    """Print the table, and write it beside its curves and its numbers."""
    from warpworld.cli.reproduce import over_tasks, rows, warnings, write_table

    print_columns(rows(file.table, results))
    for sentence in filter(None, [over_tasks(file.table, results), *warnings(results)]):
        print(sentence)
    if results.tasks:
        print("", *write_table(file.table, results, folder), sep="\n")
