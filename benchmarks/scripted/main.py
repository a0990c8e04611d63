"""The command line of the scripted references."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from warpworld.cli.bench.conditions import conditions
from warpworld.files import replace_text

from . import __doc__ as DESCRIPTION
from .cases import CASES


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    names = list(dict.fromkeys(case.name for case in CASES))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scripted", description=DESCRIPTION)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="figures as JSON")
    arguments = parser.parse_args(argv)
    unknown = set(arguments.names) - set(names)
    if unknown:
        parser.error(f"no rule for {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    results: dict[str, list[dict[str, Any]]] = {}
    table = Table("environment", "rule", "figures", box=None)
    for case in CASES:
        if case.name in (arguments.names or names):
            torch.manual_seed(1)  # of rules that leave something to chance
            figures = dict(case.measure())
            results.setdefault(case.name, []).append({"about": case.about, "figures": figures})
            table.add_row(case.name, case.about, ", ".join(f"{key} {value:.3g}" for key, value in figures.items()))
    Console().print(table)
    if arguments.save:
        arguments.save.parent.mkdir(parents=True, exist_ok=True)
        replace_text(arguments.save, json.dumps({**conditions(), "results": results}, indent=1) + "\n")
