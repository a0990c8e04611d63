"""`warpworld plans`: draw homes from a seed, or look at plans that there are."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import at_least
from warpworld.text import print_columns

if TYPE_CHECKING:
    from warpworld.eyes.plans import Plan

MOST_PLANS = 1_000_000
MOST_ROOMS = 60  # as in plans/generator.py, which the command line does not load
SHEET = "plans.png"
PLAN_HELP = "a JSON plan, a drawing of CubiCasa5k, or a folder of either, instead of a seed"


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    plans = commands.add_parser(
        "plans",
        help="draw floor plans from a seed, or look at your own",
        description="Draw homes from a seed and write them as JSON, with a picture of the first 64; or check plans "
        "that you have, and write the picture alone.",
    )
    plans.add_argument("paths", metavar="PLAN", nargs="*", help=PLAN_HELP)
    plans.add_argument("--seed", type=at_least(0, 2**64 - 1), default=0, help="seed of the homes (default: 0)")
    plans.add_argument("--count", type=at_least(1, MOST_PLANS), default=64, help="how many to draw (default: 64)")
    plans.add_argument(
        "--rooms", type=_rooms, default=(6, 20), metavar="LEAST-MOST", help="rooms of a home (default: 6-20)"
    )
    plans.add_argument("--output", metavar="FOLDER", default="plans", help="write into this folder (default: plans)")
    plans.set_defaults(command=_plans)


def _rooms(text: str) -> tuple[int, int]:
    """An argparse type: ``6-20``, or ``8`` for eight rooms each."""
    found = re.fullmatch(r"(\d{1,2})(?:-(\d{1,2}))?", text, re.ASCII)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= least <= most <= MOST_ROOMS:
        raise argparse.ArgumentTypeError(f"{text!r:.40}, expected two numbers of 1 to {MOST_ROOMS}, such as 6-20")
    return least, most


def _plans(arguments: argparse.Namespace) -> int:
    from warpworld.drawing import make_folder
    from warpworld.eyes.plans import MOST, home, load_plans, write_plan, write_sheet

    # plans that are given, or drawn from the seed
    if arguments.paths:
        plans = [plan for path in arguments.paths for plan in load_plans(path)]
        folder = make_folder(Path(arguments.output))
    else:
        folder = make_folder(Path(arguments.output))
        plans = []
        for index in range(arguments.count):
            plans.append(home(arguments.seed, index, arguments.rooms))
            write_plan(plans[-1], folder / f"home-{arguments.seed}-{index:0{len(str(arguments.count - 1))}}.json")
    # statistics and a picture
    _print_statistics(plans)
    if not arguments.paths:
        print(f"{len(plans):,} plan{'s' * (len(plans) != 1)} in {folder}")
    shown = f" (the first {MOST})" if len(plans) > MOST else ""
    print(f"{write_sheet(plans, folder / SHEET)}{shown}")
    return 0


def _print_statistics(plans: list[Plan]) -> None:
    from warpworld.eyes.plans.statistics import statistics

    rows = [["", "least", "mean", "most"]]
    for name, (least, mean, most) in statistics(plans).items():
        digits = 0 if float(least).is_integer() and float(most).is_integer() else 1
        rows.append([name, f"{least:,.{digits}f}", f"{mean:,.1f}", f"{most:,.{digits}f}"])
    print_columns(rows)
