"""`warpworld bench`: speed on this machine."""

from __future__ import annotations

import argparse
from typing import Any

from warpworld.commands.argument_types import seconds


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    bench = commands.add_parser(
        "bench",
        help="measure speed on this machine",
        description="Speed of stepping and of learning, beside peers that are installed.",
    )
    bench.add_argument(
        "--only",
        metavar="WORLD",
        help="only worlds whose name contains this; leaves the peers out; adapters, export, off-policy, ppo, "
        "replay and rollout are tables of their own",
    )
    bench.add_argument("--seconds", type=seconds, default=0.2, help="length of each of the five windows (default: 0.2)")
    bench.add_argument("--save", metavar="FILE", help="also write the rows, with machine, date and commit, as JSON")
    bench.set_defaults(command=_bench)


def _bench(arguments: argparse.Namespace) -> int:
    from warpworld.benchmarks.main import run

    run(only=arguments.only, seconds=arguments.seconds, save=arguments.save)
    return 0
