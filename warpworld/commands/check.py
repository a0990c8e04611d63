"""`warpworld check`: what is wrong with an environment's kernels."""

from __future__ import annotations

import argparse
import json
from typing import Any

from warpworld.commands.argument_types import at_least
from warpworld.commands.environments import add_environment, made_environment

FOUND = 1  # exit status


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    check = commands.add_parser(
        "check",
        help="find races and other faults in an environment's kernels, without a GPU",
        description="Run an environment's kernels on a CPU under random actions, watch every access of memory, and "
        "report what is wrong. Exit status: 0 clean, 1 something was found, 2 the check could not run.",
    )
    add_environment(check)
    check.add_argument("--steps", type=at_least(1, 100_000), default=120, help="steps to take (default: 120)")
    check.add_argument("--envs", type=at_least(2, 1000), default=5, help="envs to step (default: 5)")
    check.add_argument("--seed", type=at_least(0), default=0, help="seed of world and actions (default: 0)")
    check.add_argument("--format", choices=("text", "json"), default="text", help="report format (default: text)")
    check.set_defaults(command=_check)


def _check(arguments: argparse.Namespace) -> int:
    from warpworld.checking.check import check

    report = check(made_environment(arguments), arguments.envs, arguments.steps, arguments.seed)
    print(json.dumps(report.as_dict(), indent=2) if arguments.format == "json" else report)
    return 0 if report.clean else FOUND
