"""`warpworld train`: train the policies of a config, or continue a run."""

from __future__ import annotations

import argparse
import contextlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpworld.cli.argument_types import FORMAT, at_least
from warpworld.cli.garbage import collect_from_here, collected_later
from warpworld.cli.override_options import add_run_options, option_overrides
from warpworld.text import print_json, printed_for
from warpworld.trainers.processes.membership import process_membership

if TYPE_CHECKING:
    from warpworld.config import RunConfig
    from warpworld.runs import Run
    from warpworld.trainers.processes import ProcessGroup
    from warpworld.trainers.processes.membership import Alone, Membership

EXAMPLES = ("cartpole", "tag_gridworld", "minatar_breakout")  # packaged configs, for a newcomer


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    train = commands.add_parser(
        "train",
        help="train the policies of a config, or continue a run",
        description="Train a config's policies, or continue a run that was stopped.",
        usage="%(prog)s [options] (CONFIG [--run DIR] | --resume RUN) [key=value ...]",
    )
    train.add_argument(
        "words", metavar="CONFIG key=value", nargs="*", help="a YAML file or a packaged config (see `warpworld list`), "
        "and overrides, such as num_envs=64 or env.num_taggers=3"
    )  # fmt: skip
    folder = train.add_mutually_exclusive_group()
    folder.add_argument("--resume", metavar="RUN", help="continue this run from its newest checkpoint")
    folder.add_argument("--run", metavar="DIR", help="train CONFIG in this folder, and continue the run if it is there")
    train.add_argument(
        "--stop-at", type=at_least(1), metavar="ENV_STEPS", help="end early, at the first checkpoint from there on"
    )
    train.add_argument(
        "--seeds",
        type=at_least(1),
        metavar="COUNT",
        help="train a run for each of this many seeds, from trainer.seed on; the same command again skips finished "
        "runs and continues the others",
    )
    train.add_argument("--jobs", type=at_least(1, 1024), help="runs of --seeds that train at a time (default: 1)")
    train.add_argument("--losses", action="store_true", help="show losses and entropies while it trains, too")
    train.add_argument("--format", **FORMAT)
    add_run_options(train)
    train.set_defaults(command=_train, settings="words", error=train.error, trained=None)


def _train(arguments: argparse.Namespace) -> int:
    # options that go together
    if arguments.resume is None and not arguments.words:
        examples = ", ".join(EXAMPLES)
        arguments.error(f"expected a YAML file or a packaged config, such as {examples}; all: warpworld list")
    # runs of several seeds
    words = [*arguments.words, *option_overrides(arguments)]
    if arguments.seeds is not None:
        return _train_seeds(words, arguments)
    if arguments.jobs is not None:
        arguments.error("--jobs is for --seeds: warpworld train CONFIG --seeds 5 --jobs 2")
    with printed_for(arguments.format):
        status = _train_one(words, arguments)
    if arguments.format == "json" and arguments.trained is not None:
        from warpworld.runs import RunFolder, summarise

        print_json(summarise(RunFolder.open(arguments.trained)).as_dict())
    return status


def _train_one(words: Sequence[str], arguments: argparse.Namespace) -> int:
    """Train a run, in one process or several."""
    with collected_later(), process_membership() as members:
        if not members.is_first:
            logging.getLogger("warpworld").setLevel(logging.ERROR)  # process 0 says it
        if arguments.resume is not None:
            return _resume(arguments.resume, words, arguments, members)
        if arguments.run is not None:
            return _start_or_resume(Path(arguments.run), words[0], words[1:], arguments, members)
        return _start(words[0], words[1:], arguments, members)


def _train_seeds(words: Sequence[str], asked: argparse.Namespace) -> int:
    alone = {"--resume": asked.resume, "--run": asked.run, "--stop-at": asked.stop_at, "--losses": asked.losses or None}
    alone["--format json"] = asked.format == "json" or None
    for option in (option for option, given in alone.items() if given is not None):
        asked.error(f"{option} is for a single run, and --seeds trains several")
    from warpworld.cli.train_seeds import train_and_compare

    return train_and_compare(words[0], words[1:], asked.seeds, asked.jobs or 1)


def _start(source: str, overrides: Sequence[str], asked: argparse.Namespace, members: Membership | Alone) -> int:
    from warpworld.config import load_config

    config = load_config(source, overrides)
    return _begin(config, members.begin(config.trainer.device), asked)


def _resume(path: str, overrides: Sequence[str], asked: argparse.Namespace, members: Membership | Alone) -> int:
    from warpworld.runs import Run, resumed_config

    run = Run.open(path)
    with contextlib.closing(run):
        if members.is_first:
            run.lock()  # before anything in the folder is relied on
        config = resumed_config(run, overrides)
        return _continue(run, config, members.begin(config.trainer.device), asked)


def _start_or_resume(
    path: Path, source: str, overrides: Sequence[str], asked: argparse.Namespace, members: Membership | Alone
) -> int:
    """Whether the run is there is process 0's to see: on other machines the folder may be another one."""
    from warpworld.config import load_config
    from warpworld.runs import Run, check_same_config, is_free

    config = load_config(source, overrides)
    with contextlib.ExitStack() as opened:
        begun = members.is_first and not is_free(path)
        if begun:
            run = opened.enter_context(contextlib.closing(Run.open(path)))
            run.lock()
            check_same_config(run, config)
        processes = members.begin(config.trainer.device)
        if not processes.any(begun):
            return _begin(config, processes, asked, path)
        if not begun:
            run = opened.enter_context(contextlib.closing(_opened_along(path, processes)))
        return _continue(run, config, processes, asked)


def _opened_along(path: Path, processes: ProcessGroup) -> Run:
    """The run that process 0 continues, as another process sees it."""
    from warpworld.errors import RunError
    from warpworld.runs import Run

    try:
        return Run.open(path)
    except RunError as error:
        raise RunError(
            f"process 0 continues run '{path}', but process {processes.rank} of {processes.size} cannot: {error} "
            "Name a folder that all machines see"
        ) from error


# ---- sessions --------------------------------------------------------------------------------------------------------
def _begin(config: RunConfig, processes: ProcessGroup, asked: argparse.Namespace, path: Path | None = None) -> int:
    from warpworld.trainers.session import begin_run, make_trainer, run_along, run_session  # with torch: it takes long

    trainer = make_trainer(config, processes)
    run = begin_run(trainer, path=path)  # only now, so that a mistake leaves no folder behind
    collect_from_here()
    if run is None:
        return run_along(trainer, asked.stop_at)
    asked.trained = run.path
    with contextlib.closing(run):
        return run_session(trainer, run, asked.stop_at, asked.losses)


def _continue(run: Run, config: RunConfig, processes: ProcessGroup, asked: argparse.Namespace) -> int:
    from warpworld.trainers.session import make_trainer, resume_command, run_along, run_session

    # the trainer, from the newest checkpoint
    is_changed = config.to_yaml() != run.config.to_yaml()
    run.config = config
    trainer = make_trainer(config, processes, initial_weights=False)
    trainer.resume(run)
    collect_from_here()
    total = trainer.num_iterations * config.trainer.num_envs * config.trainer.num_steps
    # processes that write nothing
    if not processes.is_first:
        return 0 if trainer.is_finished else run_along(trainer, asked.stop_at)
    asked.trained = run.path
    # settings from here on
    if is_changed:
        run.rewrite_config(config)
    # a run that is finished
    if trainer.ending:
        print(f"run '{run.path}' is finished after {trainer.env_steps:,} env steps: {trainer.ending}.")
        print("To train on, change that:")
        print(f"{resume_command(run)} trainer.stop_when={{}} trainer.patience=null")
        return 0
    if trainer.env_steps == total:
        print(f"run '{run.path}' is finished: it has done its {total:,} env steps. To train on, give it more:")
        print(f"{resume_command(run)} trainer.total_env_steps={2 * total}")
        return 0
    # the rest of the run
    print(f"continuing {run.path} from {trainer.env_steps:,} of {total:,} env steps", flush=True)
    return run_session(trainer, run, asked.stop_at, asked.losses)
