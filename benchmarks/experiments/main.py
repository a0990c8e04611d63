"""The command line of the learning experiments."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from warpworld.cli.bench.conditions import conditions
from warpworld.errors import RunError
from warpworld.files import replace_text

from . import EXPERIMENTS
from . import __doc__ as DESCRIPTION
from .curves import draw
from .training import run_seed

Results = dict[str, list[dict[str, Any]]]  # by experiment, one for each seed


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    unknown = set(arguments.experiments) - set(EXPERIMENTS)
    if unknown:
        parser.error(f"no experiment {', '.join(sorted(unknown))}; there are {', '.join(EXPERIMENTS)}")
    if arguments.load and (arguments.experiments or arguments.save or arguments.keep):
        parser.error("--load trains nothing: give neither experiments nor --save nor --keep")
    for file in (arguments.save, arguments.draw):
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)  # better refused before a training than after it
    try:
        results = _loaded(arguments.load) if arguments.load else _trained(arguments)
    except RunError as error:
        parser.error(str(error))
    print_results(results)
    if arguments.draw:
        draw({name: EXPERIMENTS[name].curves for name in results}, results, arguments.draw)


def print_results(results: Results) -> None:
    """A table for each experiment: a line for each figure, a column for each seed."""
    console = Console()
    for name, runs in results.items():
        console.print(f"\n{name}: {EXPERIMENTS[name].claim}", soft_wrap=True, highlight=False)
        table = Table(box=None)
        table.add_column("")
        for run in runs:
            table.add_column(f"seed {run['seed']}", justify="right")
        for figure in runs[0]["figures"]:
            values = [run["figures"].get(figure) for run in runs]
            table.add_row(figure.replace("_", " "), *("-" if v is None else f"{v:,.2f}" for v in values))
        table.add_row("holds", *("yes" if run["holds"] else "NO" for run in runs))
        console.print(table)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments", description=DESCRIPTION)
    parser.add_argument("experiments", nargs="*", metavar="NAME", help=f"of {', '.join(EXPERIMENTS)} (default: all)")
    parser.add_argument("--seeds", type=_at_least_1, default=3, help="how many of each experiment (default: 3)")
    parser.add_argument("--first-seed", type=_at_least_1, default=1, help="the first of them (default: 1)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="figures and curves as JSON, after every seed")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="what the first seed learns, in a folder for each")
    parser.add_argument("--load", type=Path, nargs="+", metavar="FILE", help="show what was saved; train nothing")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="the curves as a PNG")
    return parser


def _at_least_1(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}, expected at least 1")
    return int(text)


def _trained(arguments: argparse.Namespace) -> Results:
    """Train and judge; each seed is kept as soon as it is known."""
    results: Results = {}
    for name in arguments.experiments or EXPERIMENTS:
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            kept = arguments.keep / name if arguments.keep and seed == arguments.first_seed else None
            results.setdefault(name, []).append(run_seed(EXPERIMENTS[name], seed, kept))
            if arguments.save:
                replace_text(arguments.save, json.dumps({**conditions(), "results": results}) + "\n")
    return results


def _loaded(files: Sequence[Path]) -> Results:
    """What files that were saved hold, one after the other.

    Raises:
        RunError: a file cannot be read as results.
    """
    results: Results = {}
    for file in files:
        try:
            held = json.loads(file.read_text(encoding="utf-8"))["results"]
            unknown = set(held) - set(EXPERIMENTS)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{file} cannot be read as results of these experiments ({error})") from error
        if unknown:
            raise RunError(f"{file} holds results of {', '.join(sorted(unknown))}, expected {', '.join(EXPERIMENTS)}")
        for name, runs in held.items():
            results.setdefault(name, []).extend(runs)
    return results
