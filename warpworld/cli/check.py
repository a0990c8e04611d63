"""`warpworld check`: what is wrong with an environment's kernels."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import CHECKPOINT, FORMAT, at_least
from warpworld.cli.environments import add_environment, made_environment
from warpworld.errors import ConfigError
from warpworld.packaged import PRETRAINED
from warpworld.text import print_json, printed_for

if TYPE_CHECKING:
    from warpworld.checking import Report

FOUND = 1  # exit status


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    check = commands.add_parser(
        "check",
        help="find races and other faults in an environment's kernels, without a GPU",
        description="Run an environment's kernels on a CPU, under random actions or those of a run's policies, watch "
        "every access of memory, and report what is wrong and which lines never ran. Exit status: 0 clean, 1 something "
        "was found, 2 the check could not run.",
    )
    add_environment(check, "; or a run folder, whose policies then act")
    check.add_argument(
        "--steps",
        type=at_least(1, 100_000),
        help="steps to take (default: one more than env.episode_length, at least 120 and at most 500)",
    )
    check.add_argument("--envs", type=at_least(2, 1000), default=5, help="envs to step (default: 5)")
    check.add_argument("--seed", type=at_least(0), default=0, help="seed of world and actions (default: 0)")
    check.add_argument("--greedy", action="store_true", help="of a run: take the likeliest actions, do not draw them")
    check.add_argument("--checkpoint", **{**CHECKPOINT, "help": f"of a run: {CHECKPOINT['help']}"})
    check.add_argument("--format", **FORMAT)
    check.set_defaults(command=_check)


def _check(arguments: argparse.Namespace) -> int:
    with printed_for(arguments.format):
        report = _report(arguments)
    if arguments.format == "json":
        print_json(report.as_dict())
    else:
        print(report)
    return 0 if report.clean else FOUND


def _report(arguments: argparse.Namespace) -> Report:
    how = arguments.envs, arguments.steps, arguments.seed
    # a run, under the actions of its policies
    if arguments.environment.startswith(PRETRAINED) or (Path(arguments.environment) / "config.yaml").is_file():
        from warpworld.trainers.from_python.check_run import check_run

        return check_run(
            arguments.environment,
            *how,
            overrides=arguments.params,
            greedy=arguments.greedy,
            checkpoint=arguments.checkpoint,
        )
    # an environment, under random actions
    for option, given in (("--greedy", arguments.greedy), ("--checkpoint", arguments.checkpoint is not None)):
        if given:
            raise ConfigError(f"{option} is for a run folder, and '{arguments.environment}' is none: leave it out")
    from warpworld.checking import check

    return check(made_environment(arguments), *how)
