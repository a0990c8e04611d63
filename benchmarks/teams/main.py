"""The command line of the comparison of team learners."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from warpworld.cli.bench.conditions import conditions
from warpworld.files import replace_text

from ..experiments.training import run_seed
from . import ALGORITHMS, TASKS
from . import __doc__ as DESCRIPTION
from .picture import draw
from .summary import print_summary


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    arguments = _parser().parse_args(argv)
    held = _loaded(arguments.load) if arguments.load else _trained(arguments)
    print_summary(held["results"], held["at_random"])
    if arguments.draw:
        draw(held["results"], arguments.draw)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.teams", description=DESCRIPTION)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)} (default: all)")
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS, help="default: all")
    parser.add_argument("--seeds", type=int, default=3, help="how many of each (default: 3)")
    parser.add_argument("--first-seed", type=int, default=11, help="the first of them (default: 11)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="scores and curves as JSON, after every training")
    parser.add_argument("--load", type=Path, nargs="+", metavar="FILE", help="show what was saved; train nothing")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="the curves as a PNG")
    return parser


def _trained(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train, one seed of every algorithm on every task after the other; each is kept as soon as it is known."""
    unknown = set(arguments.tasks) - set(TASKS)
    if unknown:
        raise SystemExit(f"error: no task {', '.join(sorted(unknown))}; there are {', '.join(TASKS)}")
    tasks = [TASKS[name] for name in arguments.tasks or TASKS]
    held: dict[str, Any] = {"results": {}, "at_random": {}}
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for task in tasks:
            for algorithm in arguments.algorithms:
                experiment = task.experiment(algorithm)
                if task.name not in held["at_random"]:
                    config = experiment.config(seed)
                    held["at_random"][task.name] = task.score(config, dict.fromkeys(config.policy))
                of_task = held["results"].setdefault(task.name, {})
                of_task.setdefault(algorithm, []).append(run_seed(experiment, seed))
                if arguments.save:
                    arguments.save.parent.mkdir(parents=True, exist_ok=True)
                    replace_text(arguments.save, json.dumps({**conditions(), **held}) + "\n")
    return held


def _loaded(files: Sequence[Path]) -> dict[str, Any]:
    """What files hold, which are of different tasks or different seeds of the same algorithms."""
    held: dict[str, Any] = {"results": {}, "at_random": {}}
    for file in files:
        of_file = json.loads(file.read_text(encoding="utf-8"))
        held["at_random"] |= of_file["at_random"]
        for task, found in of_file["results"].items():
            for algorithm, runs in found.items():
                held["results"].setdefault(task, {}).setdefault(algorithm, []).extend(runs)
    return held
