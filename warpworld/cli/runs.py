"""`warpworld runs`: the runs of a folder, a line each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.files import readable
from warpworld.text import print_columns, printable

if TYPE_CHECKING:
    from warpworld.runs import RunSummary

MOST = 4  # settings in a line


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    runs = commands.add_parser(
        "runs",
        help="the runs of a folder: what differs, returns, steps and state",
        description="A line for each run: state, steps, last and best mean return, and the settings that differ from "
        "other runs of its environment.",
    )
    runs.add_argument(
        "words", metavar="FOLDER key=value", nargs="*", default=[], help="folders with run folders (default: runs), "
        "and what their runs must have, such as seed=1, state=finished, tag=baseline or environment=tag_*"
    )  # fmt: skip
    runs.add_argument(
        "--sort", metavar="KEY", default="started", help="run, environment, state, started, steps, last, best or a "
        "setting (default: started); the largest number first"
    )  # fmt: skip
    runs.add_argument("--reverse", action="store_true", help="in the opposite order")
    runs.add_argument("--json", action="store_true", help="as JSON, with everything that differs")
    runs.set_defaults(command=_runs, settings="words")


def _runs(arguments: argparse.Namespace) -> int:
    from warpworld.runs import RUNS, run_folders, summarise
    from warpworld.runs.choosing import chosen, in_order

    # folders, and what runs must have
    conditions = [word for word in arguments.words if "=" in word and not Path(word).exists()]
    folders = [word for word in arguments.words if word not in conditions]
    if not folders and not Path(RUNS).exists():
        print("[]" if arguments.json else f"no folder {RUNS} here; warpworld train CONFIG makes the first run in it")
        return 0
    folders = folders or [RUNS]
    # runs that have it
    every = [summarise(run) for folder in folders for run in run_folders(folder)]
    found = in_order(chosen(every, conditions), arguments.sort, arguments.reverse)
    # output as JSON or as a table
    if arguments.json:
        print(json.dumps(_plain(found, every), indent=2))
        return 0
    if not found:
        print(f"no run in {', '.join(map(str, folders))}" + (f" has {' and '.join(conditions)}" if conditions else ""))
        return 0
    print_columns(_rows(found, every))
    # problems and notes, apart from the table
    for run in found:
        if run.problem:
            print(printable(run.problem), file=sys.stderr)
        if run.note:
            print(printable(f"{run.name}: {run.note}"), file=sys.stderr)
    return 0


def _rows(runs: Sequence[RunSummary], every: Sequence[RunSummary]) -> list[list[str]]:
    """A heading, and a line for each run; with a column of tags where one has any."""
    from warpworld.runs import rounded

    differ = _differences(every)
    rows = [["run", "state", "env steps", "last return", "best return", "tags", "differs in"]]
    for run in runs:
        returns = [_returns(run, kind) for kind in ("last", "best")]
        settings = [f"{key.rpartition('.')[2]} {rounded(value)}" for key, value in differ[run.path].items()]
        more = [f"{len(settings) - MOST} more"] if len(settings) > MOST else []
        about = ", ".join([*settings[:MOST], *more])
        rows.append([run.name, run.state, f"{run.env_steps:,}", *returns, " ".join(run.tags), about])
    tagged = any(run.tags for run in runs)
    return rows if tagged else [[*row[:5], row[6]] for row in rows]


def _returns(run: RunSummary, kind: str) -> str:
    """The last or best return, behind the policies' names where there are several."""
    from warpworld.text import shown

    found = {name: shown(getattr(returns, kind)) for name, returns in run.returns.items()}
    if len(found) == 1:
        return next(iter(found.values()))
    return "  ".join(f"{name} {value}" for name, value in found.items()) or "-"


def _differences(runs: Sequence[RunSummary]) -> dict[Path, dict[str, str]]:
    """The settings of each run that are not the same in all of its environment."""
    from warpworld.runs import MISSING, differing

    found: dict[Path, dict[str, str]] = {}
    for environment in {run.environment for run in runs}:
        alike = [run for run in runs if run.environment == environment]
        differ = differing([run.settings for run in alike])
        for i, run in enumerate(alike):
            found[run.path] = {key: values[i] for key, values in differ.items() if values[i] != MISSING}
    return found


def _plain(runs: Sequence[RunSummary], every: Sequence[RunSummary]) -> list[dict[str, Any]]:
    """Entries that ``--json`` prints of the runs."""
    differ = _differences(every)
    return [
        {
            "path": readable(run.path),
            "environment": run.environment,
            "state": run.state,
            "started": run.started,
            "tags": run.tags,
            "env_steps": run.env_steps,
            "total_env_steps": run.total,
            "returns": {name: {"last": found.last, "best": found.best} for name, found in run.returns.items()},
            "differs": differ[run.path],
            "problem": run.problem,
        }
        for run in runs
    ]
