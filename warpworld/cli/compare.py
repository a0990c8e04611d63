"""`warpworld compare`: runs side by side, with what differs between them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import FORMAT
from warpworld.text import print_columns, print_json, printable

if TYPE_CHECKING:
    from warpworld.runs import RunSummary


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    compare = commands.add_parser(
        "compare",
        help="runs side by side: what differs, steps and returns",
        description="A column for each run, headed by what differs: state, steps, last and best mean return, and every "
        "setting that is not the same in all. `warpworld report RUN RUN` overlays their curves.",
    )
    compare.add_argument("runs", metavar="RUN", nargs="+", help="run folders, at least two")
    compare.add_argument("--format", **FORMAT)
    compare.set_defaults(command=_compare, error=compare.error)


def _compare(arguments: argparse.Namespace) -> int:
    from warpworld.runs import RunFolder, summarise

    if len(arguments.runs) == 1:
        arguments.error("expected at least two run folders")
    runs = [summarise(RunFolder.open(path)) for path in arguments.runs]
    if arguments.format == "json":
        print_json({"runs": [run.as_dict() for run in runs], "differing": _differing(runs)})
        return 0
    print_columns(_rows(runs))
    for run in runs:
        if run.problem:
            print(printable(run.problem), file=sys.stderr)
    return 0


def _differing(runs: Sequence[RunSummary]) -> dict[str, list[str]]:
    from warpworld.runs import differing

    return {key: list(values) for key, values in differing([run.settings for run in runs]).items()}


def _rows(runs: Sequence[RunSummary]) -> list[list[str]]:
    from warpworld.runs import labels

    # names, states and progress
    settings = [run.settings for run in runs]
    rows = [
        ["", *labels(settings, [run.name for run in runs])],
        ["run", *(run.name for run in runs)],
        ["state", *(run.state for run in runs)],
        ["env steps", *(f"{run.env_steps:,} of {run.total:,}" for run in runs)],
    ]
    # returns by policy
    for policy in dict.fromkeys(name for run in runs for name in run.returns):
        rows += [
            [f"{policy}: {kind} return", *(_return(run, policy, kind) for run in runs)] for kind in ("last", "best")
        ]
    # settings that differ
    return rows + [[key, *values] for key, values in _differing(runs).items()]


def _return(run: RunSummary, policy: str, kind: str) -> str:
    from warpworld.text import shown

    return shown(getattr(run.returns.get(policy), kind, None))
