"""The command line of the learning experiments."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ..main import conditions
from . import EXPERIMENTS
from . import __doc__ as DESCRIPTION
from .curves import draw
from .training import run_seed


def print_results(results: dict[str, list[dict[str, Any]]]) -> None:
    """A table for each experiment: a line for each figure, a column for each seed."""
    console = Console()
    for name, runs in results.items():
        console.print(f"\n{name}: {EXPERIMENTS[name].claim}", soft_wrap=True, highlight=False)
        table = Table(box=None)
        table.add_column("")
        for run in runs:
            table.add_column(f"seed {run['seed']}", justify="right")
        for figure in runs[0]["figures"]:
            values = [run["figures"][figure] for run in runs]
            table.add_row(figure.replace("_", " "), *("-" if v is None else f"{v:,.2f}" for v in values))
        table.add_row("holds", *("yes" if run["holds"] else "NO" for run in runs))
        console.print(table)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m warpworld.benchmarks.experiments", description=DESCRIPTION)
    parser.add_argument("experiments", nargs="*", metavar="NAME", help=f"of {', '.join(EXPERIMENTS)} (default: all)")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of each, from 1 (default: 3)")
    parser.add_argument("--save", metavar="FILE", help="figures and curves as JSON")
    parser.add_argument("--draw", metavar="FILE", help="the curves as a PNG")
    arguments = parser.parse_args(argv)
    unknown = set(arguments.experiments) - set(EXPERIMENTS)
    if unknown:
        parser.error(f"no experiment {', '.join(sorted(unknown))}; there are {', '.join(EXPERIMENTS)}")
    results = {
        name: [run_seed(EXPERIMENTS[name], seed) for seed in range(1, arguments.seeds + 1)]
        for name in arguments.experiments or EXPERIMENTS
    }
    print_results(results)
    if arguments.save:
        Path(arguments.save).write_text(json.dumps({**conditions(), "results": results}) + "\n", encoding="utf-8")
    if arguments.draw:
        draw({name: EXPERIMENTS[name].curves for name in results}, results, Path(arguments.draw))
