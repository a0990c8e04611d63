"""`warpworld report`: one page about one or several runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import at_least

if TYPE_CHECKING:
    from warpworld.runs import RunFolder


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    report = commands.add_parser(
        "report",
        help="one web page about one or several runs",
        description="Settings, curves, a replay, machine and speed on a page of its own.",
    )
    report.add_argument("runs", metavar="RUN", nargs="+", help="run folders; the curves of several are overlaid")
    report.add_argument(
        "--output",
        metavar="FILE",
        help="the page (default: report.html in the folder of the one run, or in the one that all runs lie in)",
    )
    report.add_argument("--seed", type=at_least(0), default=0, help="seed of the replay (default: 0)")
    report.add_argument(
        "--replay",
        action=argparse.BooleanOptionalAction,
        help="record a replay now, or leave it out (default: record it where that runs warpworld's code only, and else "
        "show the one that `warpworld watch` wrote)",
    )
    report.add_argument(
        "--watch", action="store_true", help="write the page again whenever metrics have grown, until no run trains"
    )
    report.set_defaults(command=_report)


def _report(arguments: argparse.Namespace) -> int:
    """Write one page about one or several runs."""
    from warpworld.cli.report.recorded import first_replay, random_returns
    from warpworld.config import read_saved
    from warpworld.drawing import make_folder
    from warpworld.report import write_report
    from warpworld.runs import RunFolder, growths

    # runs that can be read
    runs = [RunFolder.open(path) for path in arguments.runs]
    for run in runs:
        read_saved(run.config_path)  # a mistake in it is reported once, and before anything is recorded
    # the page, and what is played for it
    path = Path(arguments.output) if arguments.output else _folder(runs) / "report.html"
    make_folder(path.parent)
    replays = {} if arguments.replay is False else first_replay(runs, arguments.seed, bool(arguments.replay))
    at_random = {} if arguments.replay is False else random_returns(runs, arguments.seed, bool(arguments.replay))
    # pages while runs train
    if arguments.watch:
        print(f"{path} is written again while runs train; Ctrl-C leaves it as it is", flush=True)
        for _ in growths(runs):
            write_report(runs, path, replays, at_random)
        replays = {} if arguments.replay is False else first_replay(runs, arguments.seed, bool(arguments.replay))
    print(write_report(runs, path, replays, at_random))
    return 0


def _folder(runs: Sequence[RunFolder]) -> Path:
    """Folder of a page about runs: the one run, the folder that all lie in, or else the working folder."""
    if len(runs) == 1:
        return runs[0].output_folder
    parents = {run.path.resolve().parent for run in runs}
    return runs[0].path.parent if len(parents) == 1 and not runs[0].is_pretrained else Path()
