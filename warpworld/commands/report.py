"""`warpworld report`: one page about one or several runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.commands.argument_types import at_least
from warpworld.errors import RunError, WarpworldError

if TYPE_CHECKING:
    from warpworld.report.recording import Recording
    from warpworld.runs import Run


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    report = commands.add_parser(
        "report",
        help="one web page about one or several runs",
        description="Settings, curves, a replay, machine and speed on a page of its own.",
    )
    report.add_argument("runs", metavar="RUN", nargs="+", help="run folders; the curves of several are overlaid")
    report.add_argument("--output", metavar="FILE", help="the page (default: report.html in the folder of the one run)")
    report.add_argument("--seed", type=at_least(0), default=0, help="seed of the replay (default: 0)")
    report.add_argument("--no-replay", action="store_true", help="leave the replay out")
    report.set_defaults(command=_report)


def _report(arguments: argparse.Namespace) -> int:
    """Write one page about one or several runs."""
    from warpworld.report.pages import make_folder
    from warpworld.report.report import write_report
    from warpworld.runs import Run

    runs = [Run.open(path) for path in arguments.runs]
    if arguments.output is None and len(runs) > 1:
        raise RunError("a report of several runs belongs to none of their folders: name a file with --output FILE")
    path = Path(arguments.output) if arguments.output else runs[0].path / "report.html"
    make_folder(path.parent)
    recordings = {} if arguments.no_replay else _first_recording(runs, arguments.seed)
    print(write_report(runs, path, recordings))
    return 0


def _first_recording(runs: Sequence[Run], seed: int) -> dict[Path, Recording]:
    """Of the first run that has a checkpoint; none, said so, if it cannot be played any more."""
    from warpworld.report.recording import record_run

    for run in runs:
        if run.checkpoints():
            try:
                return {run.path: record_run(run, seed=seed)}
            except WarpworldError as error:  # a report is worth having without it
                print(f"no replay: {error}")
                return {}
    return {}
