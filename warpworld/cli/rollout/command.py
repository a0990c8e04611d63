"""`warpworld rollout`: episodes of a run's policies as a data set."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import CHECKPOINT, MOST_EPISODES, at_least
from warpworld.cli.override_options import add_device, opened_run, played_config
from warpworld.errors import RunError

if TYPE_CHECKING:
    from warpworld.cli.rollout.formats import Writer

FORMATS = {"npz": "", "parquet": "pyarrow", "minari": "minari"}  # and the package that writes it
PLACES = {"npz": "rollout.npz", "parquet": "parquet", "minari": "minari"}


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    rollout = commands.add_parser(
        "rollout",
        help="write episodes of a run's policies as data: npz, Parquet or Minari",
        description="Play whole episodes with a run's policies, and write every step of every agent: observations, "
        "actions, rewards, ends and masks, by group.",
    )
    rollout.add_argument("run", metavar="RUN", help="a run folder, as `warpworld train` makes")
    rollout.add_argument(
        "overrides",
        metavar="env.key=value",
        nargs="*",
        default=[],
        help="parameters of the environment to play in, such as env.plan_seed=1000",
    )
    rollout.add_argument(
        "--episodes", type=at_least(1, MOST_EPISODES), default=100, help="episodes to play (default: 100)"
    )
    rollout.add_argument("--to", choices=FORMATS, default="npz", help="form of the data (default: npz)")
    rollout.add_argument("--output", metavar="PATH", help="where it is written (default: in RUN/data)")
    rollout.add_argument("--seed", type=at_least(0), default=0, help="seed of the episodes (default: 0)")
    rollout.add_argument("--greedy", action="store_true", help="take the likeliest actions instead of drawing them")
    rollout.add_argument("--checkpoint", **CHECKPOINT)
    add_device(rollout, "play")
    rollout.set_defaults(command=_rollout, settings="overrides")


def _rollout(arguments: argparse.Namespace) -> int:
    run = opened_run(arguments)
    config = played_config(run, arguments.overrides)
    write = writer_of(arguments.to)
    target = Path(arguments.output or run.output_folder / "data" / PLACES[arguments.to])
    if target.exists():
        raise RunError(f"'{target}' exists already, and nothing is overwritten: name another place with --output")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(target, error) from error
    from warpworld.trainers import load_policies
    from warpworld.trainers.from_python import played_episodes

    policies = load_policies(run, arguments.checkpoint)
    episodes = played_episodes(config, policies, arguments.episodes, arguments.seed, arguments.greedy)
    about = {
        "environment": config.title,
        "run": run.path.resolve().name,
        "checkpoint": arguments.checkpoint or run.checkpoints()[-1],
        "greedy": arguments.greedy,
        "seed": arguments.seed,
    }
    try:
        how_to_read = write(episodes, config.make_environment().groups(), about, target)
    except OSError as error:
        raise cannot_write(target, error) from error
    steps = sum(map(len, episodes))
    print(f"{len(episodes):,} episode{'s' * (len(episodes) != 1)} of {steps:,} steps in all: {target}")
    print(f"read them: {how_to_read}")
    return 0


def cannot_write(target: Path, error: OSError) -> RunError:
    """Make the error for a place that cannot be written."""
    return RunError(f"'{target}' cannot be written: {error.strerror or error}; name another place with --output")


def writer_of(name: str) -> Writer:
    """Function that writes a form.

    Raises:
        RunError: the package that it needs is not installed.
    """
    package = FORMATS[name]
    if package and importlib.util.find_spec(package) is None:
        raise RunError(f"--to {name} needs the package {package}: pip install 'warpworld[data]', or take --to npz")
    from warpworld.cli.rollout.formats import WRITERS

    return WRITERS[name]
