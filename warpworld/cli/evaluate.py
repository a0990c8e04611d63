"""`warpworld eval`: how a run's policies play."""

from __future__ import annotations

import argparse
from typing import Any

from warpworld.cli.argument_types import CHECKPOINT, FORMAT, MOST_EPISODES, SIMULATIONS, at_least
from warpworld.cli.named_run import add_run, take_run
from warpworld.cli.override_options import add_device, opened_run, played_config
from warpworld.text import print_columns, print_json, printed_for


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
    evaluation.add_argument("--simulations", **SIMULATIONS)
    evaluation.add_argument("--checkpoint", **CHECKPOINT)
    add_device(evaluation, "play")
    evaluation.add_argument("--format", **FORMAT)
    evaluation.set_defaults(command=_eval, settings="overrides")


def _eval(arguments: argparse.Namespace) -> int:
    from warpworld.runs import own_metrics
    from warpworld.text import shown, shown_metric

    take_run(arguments)
    run = opened_run(arguments)
    played_in = played_config(run, arguments.overrides)
    from warpworld.trainers import whole_rounds
    from warpworld.trainers.evaluate import evaluate

    # the evaluation, in whole rounds
    played = whole_rounds(arguments.episodes)
    if played != arguments.episodes and arguments.format == "text":
        print(f"{played:,} episodes: {arguments.episodes:,} rounded up, so that every env plays as many")
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
        )
    if arguments.format == "json":
        print_json({"run": str(run.path), "greedy": arguments.greedy, "seed": arguments.seed, "policies": results})
        return 0
    # returns by policy
    rows = [["policy", "mean return", "95% confidence", "all at random", "others at random"]]
    for name, result in results.items():
        keys = ("random_return", "against_random")
        confidence = f"+- {shown(result['confidence'])}"
        rows.append([name, shown(result["mean_return"]), confidence, *(shown(result[key]) for key in keys)])
    print_columns([row[: 5 if len(results) > 1 else 4] for row in rows])
    if arguments.steps is not None:
        print(_stopped(arguments.steps, **{key: int(result[key]) for key in ("episodes", "unfinished")}))
    # metrics of the environment
    found = {name: value for result in results.values() for name, value in result.items()}
    own = own_metrics(found)
    if own:
        print()
        print_columns([["metric", "mean"], *([heading, shown_metric(found[name])] for name, heading in own.items())])
    return 0


def _stopped(steps: int, episodes: int, unfinished: int) -> str:
    """Sentence on what was played where there was a limit to the steps."""
    if not unfinished:
        return f"all {episodes:,} episodes ended within {steps:,} steps of each env"
    return f"stopped after {steps:,} steps of each env: {unfinished:,} of {episodes:,} episodes unfinished"
