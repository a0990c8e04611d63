"""`warpworld train`: train the policies of a config, or continue a run."""

from __future__ import annotations

import argparse
import contextlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from warpworld.commands.argument_types import at_least
from warpworld.commands.joining import joined
from warpworld.commands.settings import add_run_options, option_overrides

if TYPE_CHECKING:
    from warpworld.commands.joining import Alone, Membership

EXAMPLES = ("cartpole", "tag_gridworld", "minatar_breakout")  # packaged configs, for a newcomer


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    train = commands.add_parser(
        "train",
        help="train the policies of a config, or continue a run",
        description="Train a config's policies, or continue a run that was stopped.",
        usage="%(prog)s [options] (CONFIG | --resume RUN) [key=value ...]",
    )
    train.add_argument(
        "words", metavar="CONFIG key=value", nargs="*", help="a YAML file or a packaged config (see `warpworld list`), "
        "and overrides, such as num_envs=64 or env.num_taggers=3"
    )  # fmt: skip
    train.add_argument("--resume", metavar="RUN", help="continue this run from its newest checkpoint")
    train.add_argument(
        "--stop-at", type=at_least(1), metavar="ENV_STEPS", help="end early, at the first checkpoint from there on"
    )
    train.add_argument("--losses", action="store_true", help="show losses and entropies while it trains, too")
    add_run_options(train)
    train.set_defaults(command=_train, settings="words", error=train.error)


def _train(arguments: argparse.Namespace) -> int:
    if arguments.resume is None and not arguments.words:
        examples = ", ".join(EXAMPLES)
        arguments.error(f"expected a YAML file or a packaged config, such as {examples}; all: warpworld list")
    words = [*arguments.words, *option_overrides(arguments)]
    with joined() as members:
        if not members.is_first:
            logging.getLogger("warpworld").setLevel(logging.ERROR)  # process 0 says it
        if arguments.resume is not None:
            return _resume(arguments.resume, words, arguments, members)
        return _start(words[0], words[1:], arguments, members)


def _start(source: str, overrides: Sequence[str], asked: argparse.Namespace, members: Membership | Alone) -> int:
    from warpworld.config import load_config

    config = load_config(source, overrides)
    from warpworld.sessions.session import begin_run, make_trainer, run_along, run_session  # with torch: it takes long

    trainer = make_trainer(config, members.begin(config.trainer.device))
    run = begin_run(trainer)  # only now, so that a mistake leaves no folder behind
    if run is None:
        return run_along(trainer, asked.stop_at)
    with contextlib.closing(run):
        return run_session(trainer, run, asked.stop_at, asked.losses)


def _resume(path: str, overrides: Sequence[str], asked: argparse.Namespace, members: Membership | Alone) -> int:
    from warpworld.runs import Run
    from warpworld.runs.resume import resumed_config
    from warpworld.sessions.session import make_trainer, resume_command, run_along, run_session

    run = Run.open(path)
    with contextlib.closing(run):
        if members.is_first:
            run.lock()  # before anything in the folder is relied on
        config = resumed_config(run, overrides)
        run.config = config
        trainer = make_trainer(config, members.begin(config.trainer.device), initial_weights=False)
        trainer.resume(run)
        total = trainer.num_iterations * config.trainer.num_envs * config.trainer.num_steps
        if not members.is_first:
            return 0 if trainer.is_finished else run_along(trainer, asked.stop_at)
        if overrides:
            run.rewrite_config(config)
        if trainer.evaluations.ending:
            print(f"run '{run.path}' is finished after {trainer.env_steps:,} env steps: {trainer.evaluations.ending}.")
            print("To train on, change that:")
            print(f"{resume_command(run)} trainer.stop_when={{}} trainer.patience=null")
            return 0
        if trainer.env_steps == total:
            print(f"run '{run.path}' is finished: it has done its {total:,} env steps. To train on, give it more:")
            print(f"{resume_command(run)} trainer.total_env_steps={2 * total}")
            return 0
        print(f"continuing {run.path} from {trainer.env_steps:,} of {total:,} env steps", flush=True)
        return run_session(trainer, run, asked.stop_at, asked.losses)
