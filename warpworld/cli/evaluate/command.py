"""`warpworld eval`: how a run's policies play."""

from __future__ import annotations

import argparse
from typing import Any

from warpworld.cli.argument_types import CHECKPOINT, FORMAT, MOST_EPISODES, SIMULATIONS, at_least
from warpworld.cli.named_run import add_run, take_run
from warpworld.cli.override_options import add_device, opened_run, played_config
from warpworld.text import print_json, printed_for


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    evaluation = commands.add_parser(
        "eval", help="play a run's policies", description="Mean return of a run's policies, against random actions."
    )
    add_run(evaluation, "a run folder, as `warpworld train` makes")
    evaluation.add_argument(
        "overrides",
        metavar="env.key=value",
        nargs="*",
        default=[],
        help="parameters of the environment to play in, such as env.plan_seed=1000",
    )
    evaluation.add_argument(
        "--episodes", type=at_least(1, MOST_EPISODES), default=1000, help="episodes to play (default: 1000)"
    )
    evaluation.add_argument(
        "--steps", type=at_least(1), help="stop after these steps of each env, and count unfinished episodes as far as "
        "they came (default: play all to their end)"
    )  # fmt: skip
    evaluation.add_argument("--seed", type=at_least(0), default=0, help="seed of the episodes (default: 0)")
    evaluation.add_argument("--greedy", action="store_true", help="take the likeliest actions instead of drawing them")
    evaluation.add_argument(
        "--opponent",
        action="append",
        default=[],
        metavar="NAME",
        help="also play each policy against a script of the environment, a run folder or RUN#NAME; may be repeated",
    )
    evaluation.add_argument(
        "--by", metavar="PARAM", help="split returns and metrics by a parameter that each env has a value of its own of"
    )
    evaluation.add_argument("--simulations", **SIMULATIONS)
    evaluation.add_argument("--checkpoint", **CHECKPOINT)
    add_device(evaluation, "play")
    evaluation.add_argument("--format", **FORMAT)
    evaluation.set_defaults(command=_eval, settings="overrides")


def _eval(arguments: argparse.Namespace) -> int:
    take_run(arguments)
    run = opened_run(arguments)
    played_in = played_config(run, arguments.overrides)
    from warpworld.cli.evaluate.tables import print_results, print_rounding
    from warpworld.trainers.evaluate import evaluate

    is_text = arguments.format == "text"
    if is_text:
        print_rounding(arguments.episodes)
    with printed_for(arguments.format):
        results = evaluate(
            run,
            episodes=arguments.episodes,
            seed=arguments.seed,
            greedy=arguments.greedy,
            checkpoint=arguments.checkpoint,
            steps=arguments.steps,
            played_in=played_in,
            simulations=arguments.simulations,
            opponents=arguments.opponent,
            by=arguments.by,
        )
    if is_text:
        print_results(results, arguments.steps, arguments.by)
    else:
        print_json({"run": str(run.path), "greedy": arguments.greedy, "seed": arguments.seed, "policies": results})
    return 0
