"""`warpworld train`: train the policies of a config, or go on with a run."""

from __future__ import annotations

import argparse
import contextlib
import logging
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from warpworld.commands.argument_types import at_least
from warpworld.commands.columns import print_columns
from warpworld.commands.joining import joined
from warpworld.commands.signals import StopOnSignal
from warpworld.config import RunConfig, load_config
from warpworld.errors import WarpworldError

if TYPE_CHECKING:
    from warpworld.commands.joining import Alone, Membership
    from warpworld.commands.progress import TrainingProgress
    from warpworld.runs import Run
    from warpworld.trainers.distributed import ProcessGroup
    from warpworld.trainers.trainer import Trainer


def add_parsers(commands: Any) -> None:
    """Add the command to the command line."""
    train = commands.add_parser(
        "train",
        help="train the policies of a config, or go on with a run",
        description="Train a config's policies, or go on with a run that was stopped.",
        usage="%(prog)s [-h] [--stop-at ENV_STEPS] (CONFIG | --resume RUN) [key=value ...]",
    )
    train.add_argument(
        "words", metavar="CONFIG key=value", nargs="*", help="a YAML file or a packaged config (see `warpworld list`), "
        "and overrides, such as trainer.num_envs=64"
    )  # fmt: skip
    train.add_argument("--resume", metavar="RUN", help="go on with this run folder from its newest checkpoint")
    train.add_argument(
        "--stop-at", type=at_least(1), metavar="ENV_STEPS", help="end early, at the first checkpoint from there on"
    )
    train.set_defaults(command=_train, settings="words", error=train.error)


def _train(arguments: argparse.Namespace) -> int:
    words: list[str] = arguments.words
    if arguments.resume is None and not words:
        arguments.error("the following arguments are required: CONFIG")
    with joined() as members:
        if not members.is_first:
            logging.getLogger("warpworld").setLevel(logging.ERROR)  # process 0 says it
        if arguments.resume is not None:
            return _resume(arguments.resume, words, arguments.stop_at, members)
        return _start(words[0], words[1:], arguments.stop_at, members)


def _start(source: str, overrides: Sequence[str], stop_at: int | None, members: Membership | Alone) -> int:
    config = load_config(source, overrides)
    trainer = _trainer(config, members.begin(config.trainer.device))
    run = trainer.create_run()  # only now, so that a mistake leaves no folder behind
    if run is None:
        return _run_along(trainer, stop_at)
    with contextlib.closing(run):
        print(f"training {config.title} with {config.trainer.num_envs:,} envs; run folder: {run.path}", flush=True)
        return _run(trainer, run, stop_at)


def _resume(path: str, overrides: Sequence[str], stop_at: int | None, members: Membership | Alone) -> int:
    from warpworld.runs import Run
    from warpworld.runs.resume import resumed_config

    run = Run.open(path)
    with contextlib.closing(run):
        if members.is_first:
            run.lock()  # before anything in the folder is relied on
        config = resumed_config(run, overrides)
        run.config = config
        trainer = _trainer(config, members.begin(config.trainer.device), initial_weights=False)
        trainer.resume(run)
        total = trainer.num_iterations * config.trainer.num_envs * config.trainer.num_steps
        if not members.is_first:
            return 0 if trainer.env_steps == total else _run_along(trainer, stop_at)
        if overrides:
            run.rewrite_config(config)
        if trainer.env_steps == total:
            print(f"run '{run.path}' is finished: it has done its {total:,} env steps. To train on, give it more:")
            print(f"{_resume_command(run)} trainer.total_env_steps={2 * total}")
            return 0
        print(f"going on with {run.path} from {trainer.env_steps:,} of {total:,} env steps", flush=True)
        return _run(trainer, run, stop_at)


def _trainer(config: RunConfig, processes: ProcessGroup, initial_weights: bool = True) -> Trainer:
    import torch

    from warpworld.trainers.cpu_tuning import tune_for_cpu
    from warpworld.trainers.trainer import Trainer

    torch.manual_seed(config.trainer.seed)  # the library draws nothing from it, but a user's model may
    trainer = Trainer(config, initial_weights, processes)
    if trainer.world.device.type == "cpu":
        tune_for_cpu()
    return trainer


def _run_along(trainer: Trainer, stop_at: int | None) -> int:
    """Train as one of several processes, of which another writes and speaks."""
    with StopOnSignal(quiet=True) as signals:
        trainer.train(None, stop=lambda: signals() or _is_reached(stop_at, trainer))
    return signals.exit_status if signals() and trainer.iteration < trainer.num_iterations else 0


def _is_reached(stop_at: int | None, trainer: Trainer) -> bool:
    return stop_at is not None and trainer.env_steps >= stop_at


def _run(trainer: Trainer, run: Run, stop_at: int | None) -> int:
    from warpworld.commands.progress import TrainingProgress
    from warpworld.environment import get_environment
    from warpworld.runs.machine import describe_machine

    environment = get_environment(run.config.name)
    if not environment.resumable:
        print(f"{environment.name}: checkpoints do not hold its envs; a resumed run begins new episodes", flush=True)
    machine = describe_machine(str(trainer.world.device))
    run.add_session({"from_env_steps": trainer.env_steps, "processes": trainer.processes.size, **machine})
    progress = TrainingProgress(run.config, env_steps=trainer.env_steps)
    try:
        with StopOnSignal() as signals, progress:
            trainer.train(run, on_iteration=progress.update, stop=lambda: signals() or _is_reached(stop_at, trainer))
    except KeyboardInterrupt:
        _draw(run)
        print(f"interrupted after {progress.env_steps:,} env steps; run folder: {run.path}", file=sys.stderr)
        print(f"go on from its last checkpoint: {_resume_command(run)}", file=sys.stderr)
        if trainer.processes.several:
            raise SystemExit(signals.exit_status) from None  # the others are told
        return signals.exit_status
    if trainer.iteration == trainer.num_iterations:
        _print_summary(run, progress)
        return 0
    _draw(run)
    out = sys.stderr if signals() else sys.stdout
    how = f"ended by {signals.received.name}" if signals.received else "stopped"
    print(f"{how} after {trainer.env_steps:,} env steps, with a checkpoint; run folder: {run.path}", file=out)
    print(f"go on: {_resume_command(run)}", file=out)
    return signals.exit_status if signals() else 0


def _resume_command(run: Run) -> str:
    return f"warpworld train --resume {shlex.quote(str(run.path))}"


def _print_summary(run: Run, progress: TrainingProgress) -> None:
    from warpworld.report.numbers import duration, shown

    env_steps, agent_steps, seconds = progress.session
    parts = f"{progress.rollout_seconds:,.1f} s in rollouts, {progress.update_seconds:,.1f} s in updates"
    if progress.timed < progress.iterations:
        parts += f", in the {progress.timed:,} of {progress.iterations:,} iterations that were logged or saved"
    done = f"{env_steps:,} in {duration(seconds)} ({env_steps / seconds:,.0f} per second)"
    rows = [
        ("run folder", str(run.path)),
        ("learning curve", _draw(run)),
        ("env steps", done),
        ("agent steps", f"{agent_steps:,} ({agent_steps / seconds:,.0f} per second)"),
        ("time", parts),
    ]
    for name, last in progress.last.items():
        rows.append((f"{name}", f"mean return {shown(progress.first[name])} at first, {shown(last)} at last"))
    print()
    print_columns(rows)


def _draw(run: Run) -> str:
    """Draw the learning curve; say where it is, or why it is not: the run itself does not fail for a picture."""
    from warpworld.report.plots import draw_curves

    if not run.metrics_path.is_file():
        return "not drawn: no metrics were logged"
    try:
        return str(draw_curves(run.metrics_path, run.curve_path, title=run.path.name))
    except (WarpworldError, ImportError) as error:
        return f"not drawn: {error}"
