"""The command line of the ablation."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from pathlib import Path

from warpworld.cli.bench.conditions import conditions
from warpworld.errors import WarpworldError

from . import __doc__ as DESCRIPTION
from . import results, table
from .arms import ARMS
from .drawing import draw
from .training import run_arm


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    unknown = set(arguments.only or ()) - set(ARMS)
    if unknown:
        parser.error(f"no arm {', '.join(sorted(unknown))}; there are {', '.join(ARMS)}")
    if arguments.only == [] and not arguments.save:
        parser.error("--only without an arm trains nothing, and there is no --save FILE to show")
    try:
        _run(arguments)
    except WarpworldError as error:
        parser.error(str(error))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiments.megastep_ablation", description=DESCRIPTION)
    parser.add_argument(
        "--only", nargs="*", metavar="ARM", help=f"of {', '.join(ARMS)} (default: all); none trains nothing"
    )
    parser.add_argument("--minutes", type=_minutes, default=10.0, help="of training, of each arm (default: 10)")
    parser.add_argument("--seed", type=int, default=1, help="of all arms (default: 1)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="JSON that each arm is put into")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="the curves as a PNG")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="page that the table is put into, between its markers"
    )
    return parser


def _minutes(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes < math.inf:
        raise argparse.ArgumentTypeError(f"{text} minutes, expected more than 0")
    return minutes


def _run(arguments: argparse.Namespace) -> None:
    """Train, keep what each arm comes to as soon as it is known, and show all of it."""
    names = ARMS if arguments.only is None else arguments.only
    if arguments.page:
        table.around(arguments.page)  # better said before a training than after it
    held = results.read(arguments.save, arguments.minutes, arguments.seed) if arguments.save else {}
    for name in names:
        settings = {**conditions(), "minutes": arguments.minutes, "seed": arguments.seed}
        held[name] = {**settings, **run_arm(ARMS[name], arguments.seed, arguments.minutes)}
        if arguments.save:
            held = results.merge(arguments.save, name, held[name])
    print(table.section(held))
    if arguments.draw:
        draw(held, arguments.draw)
    if arguments.page:
        picture = os.path.relpath(arguments.draw, arguments.page.parent) if arguments.draw else None
        table.write_into(arguments.page, table.section(held, picture))
