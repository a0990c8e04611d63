"""`warpworld trace`: a run's episodes as arrays and as CSV."""

from __future__ import annotations

import argparse
from typing import Any

from warpworld.cli.argument_types import CHECKPOINT, MOST_EPISODES, at_least
from warpworld.cli.override_options import add_device, opened_run


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    trace = commands.add_parser(
        "trace",
        help="a run's episodes as arrays (.npz) and as CSV",
        description="Play a run's policies in one env and write every array of every event: observations, actions, "
        "rewards, ends and state. An event is a step, or the reset with which an episode begins; a CSV file has a row "
        "for each agent of an event. With the same seed, the episodes of `warpworld watch`.",
    )
    trace.add_argument("run", metavar="RUN", help="a run folder, as `warpworld train` makes")
    trace.add_argument(
        "overrides", metavar="key=value", nargs="*", default=[], help="overrides, such as env.num_taggers=8"
    )
    trace.add_argument(
        "--arrays", metavar="NAME,...", action="append", default=[], help="the arrays to write (default: all); a name "
        "that ends in .npz is the file of --npz"
    )  # fmt: skip
    trace.add_argument(
        "--npz",
        metavar="FILE",
        help="write arrays into this file (default: trace.npz in the run; none with --csv alone)",
    )
    trace.add_argument("--csv", metavar="FILE", help="write rows of text into this file (default: none)")
    trace.add_argument("--episodes", type=at_least(1, MOST_EPISODES), default=1, help="episodes to play (default: 1)")
    trace.add_argument("--seed", type=at_least(0), default=0, help="seed of the episodes (default: 0)")
    trace.add_argument("--greedy", action="store_true", help="take the likeliest actions instead of drawing them")
    trace.add_argument("--checkpoint", **CHECKPOINT)
    add_device(trace, "play")
    trace.set_defaults(command=_trace, settings="overrides")


def _trace(arguments: argparse.Namespace) -> int:
    from warpworld.cli.trace.playing import trace_policies
    from warpworld.errors import RunError
    from warpworld.trainers import load_policies

    # files and arrays
    names = [given for given in arguments.arrays if not given.endswith(".npz")]
    npz = arguments.npz or next((given for given in arguments.arrays if given not in names), None)
    if npz and not npz.endswith(".npz"):
        raise RunError(f"--npz {npz}: expected a name that ends in .npz; for text: --csv FILE")
    if arguments.csv and arguments.csv.endswith(".npz"):
        raise RunError(f"--csv {arguments.csv}: expected a name that does not end in .npz; for arrays: --npz FILE")
    # the run and its policies
    run = opened_run(arguments, ["trainer.device=auto", *arguments.overrides])
    paths = [path for path in (npz, arguments.csv) if path] or [run.output_folder / "trace.npz"]
    only = [name for given in names for name in given.split(",")] or None
    policies, how = load_policies(run, arguments.checkpoint), (arguments.episodes, arguments.seed, arguments.greedy)
    # episodes, written as they are played
    for trace in trace_policies(run.config, policies, paths, *how, only):
        unit = "events" if str(trace.path).endswith(".npz") else "rows"
        print(f"{trace.path}: {arguments.episodes:,} episode{'s' * (arguments.episodes != 1)}, {trace.rows:,} {unit}")
    return 0
